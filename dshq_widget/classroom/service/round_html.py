"""The rows of a round's page as HTML, made once for everybody who looks. A class of 300 has 300 of them, and a template
takes ten milliseconds of the one thread that answers all of the class.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tornado.escape import url_escape, xhtml_escape
from tornado.template import Loader

from dshq_widget.classroom.standings import Row, Table
from dshq_widget.classroom.store import FINISHED, User

LOADER = Loader(str(Path(__file__).parent / "templates"))
NARROWEST = 900.0, 1100.0
"""What the ratings' axis covers at least."""
WIDEST = 60
"""Largest number of entries in a full cross table; for larger rounds one column is shown."""


class RoundHtml:
    """Made on any thread. `found` is the round's row, `blocks` its `first_blocks`; `url` makes the address of a page of
    the league.
    """

    def __init__(self, table: Table, found: Any, blocks: np.ndarray, url: Callable[[str], str]) -> None:
        self._table, self._blocks, self._url = table, blocks, url
        self._watched = found.state == FINISHED
        self.few = len(table.rows) <= WIDEST
        finite = [row for row in table.rows if row.half < 1e9]
        low = min([row.elo - row.half for row in finite] + [NARROWEST[0]])
        span = max([row.elo + row.half for row in finite] + [NARROWEST[1]]) - low
        how = {"low": low, "span": span, "url": url, "number": found.id, "published": found.publish and self._watched}

        def row_of(row: Row, *, linked: bool, me: bool) -> str:
            return LOADER.load("standing.html").generate(r=row, linked=linked, me=me, **how).decode()

        students = [row for row in table.rows if not row.anchor]
        self._plain = [row_of(row, linked=False, me=False) for row in table.rows]
        self._linked = [row_of(row, linked=not row.anchor, me=False) for row in table.rows]
        self._own = {row.name: row_of(row, linked=True, me=True) for row in students}
        self._names = {row.place: xhtml_escape(row.name) for row in table.rows}
        self._heads = [f'<tr><th scope="row">{self._head(row, found.id)}</th>' for row in table.rows]
        self._cross = self._cells(table.rows) if self.few else ""

    def standings(self, user: User) -> str:
        """The rows of the table of ratings, as this user sees them."""
        rows = self._linked if user.instructor else self._plain
        if user.name not in self._own:
            return "".join(rows)
        return "".join(
            self._own[row.name] if row.name == user.name and not row.anchor else html
            for row, html in zip(self._table.rows, rows, strict=True)
        )

    def cross(self, player: str) -> str:
        """The cross table with its head; of a round with many entries only the column of `player`."""
        columns = self._table.rows if self.few else [row for row in self._table.rows if row.name == player]
        head = "".join(f'<th scope="col"><span>{self._names[column.place]}</span></th>' for column in columns)
        return f"<thead><tr><th></th>{head}</tr></thead><tbody>{self._cross or self._cells(columns)}</tbody>"

    def _head(self, row: Row, number: int) -> str:
        name = self._names[row.place]
        if self.few:
            return name
        return f'<a href="{xhtml_escape(self._url(f"round/{number}"))}?player={url_escape(row.name)}">{name}</a>'

    def _cells(self, columns: Sequence[Row]) -> str:
        return "".join(
            f"{head}{''.join(self._cell(row, column) for column in columns)}</tr>"
            for row, head in zip(self._table.rows, self._heads, strict=True)
        )

    def _cell(self, row: Row, column: Row) -> str:
        met = self._table.matches[row.place, column.place]
        if row.place == column.place or not met:
            return '<td class="self"></td>' if row.place == column.place else "<td></td>"
        share = float(self._table.points[row.place, column.place] / met)
        percent, shade = math.floor(100 * share + 0.5), math.floor(10 * share + 0.5)
        if not self._watched:
            return f'<td class="s{shade}">{percent}</td>'
        block = self._blocks[min(row.place, column.place), max(row.place, column.place)]
        said = f"{self._names[row.place]} against {self._names[column.place]}: {percent} %"
        href = xhtml_escape(self._url(f"match/{block}"))
        return f'<td class="s{shade}"><a href="{href}" aria-label="{said}">{percent}</a></td>'


def first_blocks(results: Sequence[Any], places: Mapping[int, int]) -> np.ndarray:
    """int32 `[n, n]`: the number of the first block that was played of each pair of places, the lower one first;
    `results` in the order of their numbers.
    """
    first = np.zeros((len(places), len(places)), np.int32)
    for result in reversed(results):
        first[places[result.first_id], places[result.second_id]] = result.id
    return first
