"""A round of the class league, played again from what it published."""

import hashlib

import numpy as np

from dshq_widget.classroom import rounds
from dshq_widget.classroom.store import Store
from dshq_widget.policy import checkpoint, ladder
from dshq_widget.policy.evaluate import evaluate, network, opponent


def recount(store: Store, number: int) -> tuple[list[tuple], np.ndarray]:
    """The round played again from what it published, by the means of `dshq evaluate`: blocks, and points by place."""
    found, entries = store.round(number), store.entries(number)
    drill = rounds.drill_of(found.drill)

    def player(entry):
        if not entry.anchor:
            saved = checkpoint.decode(store.published(number, entry.digest))
            return network(saved.layers, saved.activation, saved.weights)
        return opponent(f"{drill.name}:{entry.name}" if entry.name in ladder.RUNGS else entry.name, drill)

    blocks, points = [], np.zeros((len(entries), len(entries)))
    for block in range(found.blocks):
        for i, first in enumerate(entries):
            for j in range(i + 1, len(entries)):
                text = f"{found.secret}|{found.rules_hash}|{first.digest}|{entries[j].digest}|{block}"
                seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "little")
                result = evaluate(drill, player(first), player(entries[j]), 32, seed=seed)
                blocks.append((first.id, entries[j].id, block, result["wins"], result["draws"], result["losses"]))
                points[i, j] += result["wins"] + result["draws"] / 2
                points[j, i] += result["losses"] + result["draws"] / 2
    return blocks, points


def results(store: Store, number: int) -> list[tuple]:
    """What the league wrote down, in the form of `recount`."""
    rows = store.results(number)
    return [(row.first_id, row.second_id, row.block, row.wins, row.draws, row.losses) for row in rows]
