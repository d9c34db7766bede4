"""The league as the page gets it: bounded, the players that matter among it, and in step with the trainer's."""

import json

import pytest

from dshq_widget.widget import page_protocol
from tests.harness.browser.recorded_widget import until
from tests.harness.games.league_rows import table

pytestmark = pytest.mark.usefixtures("bundle")


def test_a_long_league_is_cut_to_those_who_matter():
    whole = table(snapshots=100, champion=60)
    rows = page_protocol.league(whole)
    assert len(rows) == page_protocol.LEAGUE_ROWS
    names = [row["name"] for row in rows]
    assert {"random", "chaser", "v420"} <= set(names), "the pinned and the champion"
    assert [f"v{7 * k}" for k in range(95, 100)] == names[-7:-2], "the newest, the scripts below them"
    assert names[:12] == [f"v{7 * k}" for k in range(12)], "the strongest"
    assert [row["rank"] for row in rows] == [1 + [r["name"] for r in whole].index(name) for name in names]
    snapshots = [row for row in rows if not row["pinned"]]
    assert all(set(row["against"]) == set(names) for row in snapshots), "results against those who are shown"
    assert len(json.dumps(rows)) < 12_000


def test_a_short_league_is_sent_whole():
    rows = page_protocol.league(table(snapshots=4, champion=0))
    assert [row["name"] for row in rows] == ["v0", "v7", "v14", "v21", "chaser", "random"]
    assert rows[0]["champion"] and rows[0]["against"]["chaser"] == [16.0, 32] and "hyper" not in rows[0]
    assert page_protocol.league([]) == []


def test_the_trait_follows_the_trainer(make):
    widget = make()
    assert widget.league == []
    widget._trainer._run.status.league = table(snapshots=3, champion=1)
    widget._refresh()
    assert [row["name"] for row in widget.league if row.get("champion")] == ["v7"]
    widget.comm.say({"type": "HELLO"})
    until(lambda: any(update.get("league") == widget.league for update in widget.comm.updates()))
    widget.reset_training()
    assert widget.league == []


def test_warnings_of_the_trainer_reach_the_page(make):
    widget = make()
    widget.comm.say({"type": "HELLO"})
    widget._trainer._run.status.warn("something is odd")
    assert until(lambda: widget.comm.customs("LOG")) == [
        {"type": "LOG", "level": "warning", "text": "something is odd"}
    ]
