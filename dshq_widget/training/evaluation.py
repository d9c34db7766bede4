"""How good the policy of a file is: matches against a player, or episodes of a drill of one side."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dshq_widget import algorithms
from dshq_widget.contract.finite import whole
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.drill.declaration import Drill
from dshq_widget.policy import checkpoint, compatibility, loading
from dshq_widget.policy.own_network import Found
from dshq_widget.policy.own_spec import OwnSpec
from dshq_widget.training import given_network
from dshq_widget.training.any_drill import compiled, with_rules

if TYPE_CHECKING:
    from dshq_kernels.play.rollout import Player
    from dshq_kernels.search.matches import Searching
    from dshq_widget.policy.checkpoint import Checkpoint

MATCHES, MOST_MATCHES = 500, 1_000_000
log = logging.getLogger(__name__)


def evaluate(
    policy: str | os.PathLike[str],
    drill: str | type[Drill] | CompiledDrill | None = None,
    *,
    against: str | os.PathLike[str] | None = None,
    matches: int = MATCHES,
    seed: int = 0,
    greedy: bool = False,
    search: str | None = None,
    network: str | Callable[..., Any] | None = None,
) -> dict[str, Any]:
    """Evaluate the policy of a `.dshq` file, or one of the package ("ball:gold").

    `drill` is what it plays, needed only if it was trained on a drill of your own. `against` is the opponent in a drill
    of two sides: "scripted" (the first baseline, the default), another baseline, "random", "idle", "bronze", "silver"
    or "gold" of the drill's ladder, another policy, or "league:best" or "league:v120" of the league in the file itself.
    The same `seed` plays the same matches. With `greedy` the likeliest action is taken, else actions are drawn.
    `search="16,4"` decides by search: 16 particles, 4 decisions ahead (docs/explain/search.md). `network` is the
    network of your own that the file was trained with (docs/howto/own-network.md).

    Returns, for two sides, `wins`, `draws`, `losses`, `points` = (wins + draws / 2) / matches, `win_rate` of decided
    matches with its 95 % interval `ci95` (Wilson, 1927) and more (policy/evaluate.py, `evaluate`); for one side
    `return_mean` with its `ci95` (normal; None of one episode) and more (`evaluate_alone`), beside random play and the
    first baseline on the same seeds. A file trained with other rules of the drill plays, with a warning in the log.
    Raises CheckpointError for a file that does not fit, ValueError for any other wrong argument.
    """
    from dshq_widget.policy import evaluate as played  # numba comes with it; keep it out of the import

    matches, seed, greedy = whole("matches", matches, 1), whole("seed", seed), bool(greedy)
    if matches > MOST_MATCHES:  # all are played at once
        raise ValueError(f"matches must be {MOST_MATCHES:,} at most, got {matches:,}")
    saved = checkpoint.load(policy)
    own = None if network is None else given_network.found(network)
    if saved.environment:
        found = _of_environment(saved, os.fspath(policy), drill, against, matches, seed, greedy, search, own)
        return {"policy": os.fspath(policy), **found}
    if drill is None:
        path = os.fspath(policy)
        drill = compatibility.known_drill(saved, path, "pass the drill's class as the second argument")
    game = with_rules(compiled(drill))
    alone = game.spec.sides == 1
    if alone and against is not None:
        raise _no_opponent(game.name, against)
    who = "" if alone else os.fspath("scripted" if against is None else against)
    result: dict[str, Any] = {"policy": os.fspath(policy), "drill": game.name, "greedy": greedy, "seed": seed}
    searching = None if search is None else _searching(saved, game, search)
    if searching is not None:
        result["search"] = [searching.how.particles, searching.how.depth]
    if not alone:
        result["against"] = who
    algorithm = algorithms.algorithms.get(saved.algorithm)
    if own is not None:
        algorithm = algorithms.get(saved.algorithm).with_network(OwnSpec.of(game.spec, own), game.spec)
    by = None if algorithm is None else algorithm.evaluate
    how: dict[str, Any] = {"seed": seed, "greedy": greedy, "searching": searching}
    if by is not None:
        result |= by(game, saved, matches, seed, greedy, who)
    elif alone:
        result |= played.evaluate_alone(game, played.learned(policy, game), matches, **how)
    else:
        players = played.learned(policy, game), _rival(who, saved, game)
        result |= played.evaluate(game, *players, matches, name=who, **how)
    if said := compatibility.other_rules(saved, os.fspath(policy), game.spec):  # nothing was refused: it has played
        log.warning("%s", said)
    return result | (played.references(game, matches, seed=seed) if alone else {})


def _rival(who: str, saved: Checkpoint, drill: CompiledDrill) -> Player:
    """The opponent of that name; a version of the league comes from the file that is evaluated."""
    from dshq_widget.policy.evaluate import network, opponent
    from dshq_widget.training.league_policy import LEAGUE, in_file

    if not who.startswith(LEAGUE):
        return opponent(who, drill)
    found = in_file(drill, saved, who)
    return network(found.layers, found.activation, found.weights)


def _of_environment(
    saved: Checkpoint,
    path: str,
    drill: object,
    against: Any,
    episodes: int,
    seed: int,
    greedy: bool,
    search: str | None,
    network: Found | None,
) -> dict[str, Any]:
    from dshq_widget.gyms.evaluate import evaluate_environment
    from dshq_widget.policy.search import parse

    if drill not in (None, saved.drill):
        raise ValueError(f"this policy only plays {saved.drill!r}, got the drill {drill!r:.60}: leave it out")
    if against is not None:
        raise _no_opponent(saved.drill, against)
    if drill is None:
        compatibility.known_drill(saved, path, f"if the module is yours, pass {saved.drill!r} as the drill")
    if search is not None and parse(search)[0]:
        raise ValueError("search: an environment of Gymnasium cannot be copied, so it cannot be searched: leave it out")
    whole("seed", seed, 0)
    player = loading.as_gym_policy(saved, network=network)
    found = evaluate_environment(player, saved.drill, episodes, seed=seed, greedy=greedy)
    return {"drill": saved.drill, "greedy": greedy, "seed": seed, **found}


def _no_opponent(name: str, against: Any) -> ValueError:
    return ValueError(f"{name!r} has one side, so there is no opponent: leave out against, got {against!r:.60}")


def _searching(saved: Checkpoint, drill: CompiledDrill, text: str) -> Searching | None:
    """How the policy searches; None for "0,0". Raises ValueError."""
    from dshq_widget.policy import search

    try:
        particles, depth = search.parse(text)
        known = algorithms.algorithms.get(saved.algorithm)
        if particles and saved.network:
            raise ValueError("a network of your own is not known to the search, so it cannot search: leave it out")
        if particles and known is not None and known.evaluate is not None:
            raise ValueError(f"a policy of {saved.algorithm} is more than a network, so it cannot search: leave it out")
        own = known.searches(saved) if particles and known is not None else {}
        return search.searching_of(saved, drill, particles, depth, own) if particles else None
    except ValueError as error:
        raise ValueError(f"search: {error}") from None
