"""Matches in which the first player decides by search."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dshq_kernels.backends.spec import PlayedSpec
from dshq_kernels.network.mlp import make_plan, pack
from dshq_kernels.play.players import POLICY
from dshq_kernels.play.rollout import Matches, Player, match_pay, match_starts
from dshq_kernels.search.arguments import How
from dshq_kernels.search.searcher import Others, Search
from dshq_kernels.simd.lanes import LANES

OTHERS_SEED = 0x07E25
"""Apart from the search's own random streams."""


class Searching(NamedTuple):
    """How a player searches, and what its particles are paid: f32 weight of each term, the discount of potentials."""

    how: How
    weights: np.ndarray
    gamma: float


def play_searched_matches(
    game: Any,
    spec: PlayedSpec,
    first: Player,
    second: Player,
    games: int,
    searching: Searching,
    *,
    seed: int,
) -> tuple[Matches, np.ndarray]:
    """As `rollout.play_matches`, from the same starts; also the trace of all searches (particles.py). In the searches
    the second player plays the other side, too. The first player must be a policy.
    """
    if first.kind > POLICY or first.blob is None:
        raise ValueError("only a policy can search")
    tiles, side_of, pick = match_starts(game, spec, games, seed)
    sides, count = spec.sides, len(side_of)
    rival = second.blob is not None
    search = Search(
        game,
        spec,
        first.layers,
        first.activation,
        count,
        searching.how.particles,
        searching.how.depth,
        other_layers=second.layers if rival else (),
    )
    params = pack(make_plan(first.layers), first.blob)
    others = Others(
        np.full(count, second.kind, np.int64),
        None if second.blob is None else pack(make_plan(second.layers), second.blob)[None],
        second.layers if rival else (),
        second.activation,
    )
    paid, each = match_pay(spec), np.arange(count)
    open_games = np.zeros((count, LANES), bool)
    open_games.ravel()[pick] = True
    result, length = np.zeros((count, LANES), np.int32), np.zeros((count, LANES), np.int32)
    returns = np.zeros((count, LANES), np.float32)
    for t in range(-(-spec.time_limit // spec.action_repeat)):
        before = tiles["action"].copy()
        search.run(
            params,
            tiles,
            searching.how,
            weights=searching.weights,
            gamma=searching.gamma,
            seed=seed,
            count=t,
            sides=side_of,
            others=others,
            active=open_games,
        )
        if sides == 2:
            search.move_others(tiles, side_of, others, before, seed ^ OTHERS_SEED, t)
        game.decide(tiles)
        game.tick(tiles, spec.action_repeat)
        terminated, winner = game.status(tiles)
        gains = (game.terms(tiles)[each, side_of][:, : len(paid)] * paid[:, None]).sum(axis=1)
        returns[open_games] += gains[open_games]
        ended = open_games & (terminated | (tiles["ticks"] >= spec.time_limit))
        length[ended] = t + 1
        result[ended] = ((1 - 2 * side_of[:, None]) * winner)[ended]
        open_games &= ~ended
        if not open_games.any():
            break
    rows = [array.ravel()[pick] for array in (result, length, returns, side_of.repeat(LANES))]
    nothing = np.zeros((0, tiles.itemsize // (4 * LANES)), np.uint32)
    return Matches(rows[0], rows[1], rows[2], rows[3], nothing, np.zeros((0, 0, sides), np.int32)), search.trace
