"""Playing games from Python, for the learner and for evaluation: `Rollouts` fills `Samples`, `play_matches` counts
wins.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dshq_kernels.backends.spec import PlayedSpec
from dshq_kernels.network.mlp import UNITS, make_plan, pack
from dshq_kernels.play.loops import (
    KEPT_WORDS,
    RETURN_MAX,
    RETURN_MIN,
    STATS,
    play,
    reset_lanes,
    reset_tiles,
    scratch_floats,
    shape_of,
)
from dshq_kernels.play.matches import match_tiles
from dshq_kernels.play.players import IDLE, POLICY, RANDOM, SELF
from dshq_kernels.run.draws import Draws
from dshq_kernels.simd.lanes import LANES
from dshq_kernels.simd.vector import aligned

STARTS, MATCH_STARTS = 0x51DE, 0x3A7C4
"""Of the draws of how games begin, in training and in matches, beside the seed."""


@dataclasses.dataclass(frozen=True)
class Samples:
    """The samples of a rollout: C-contiguous arrays `[units, ..., 16]`."""

    obs: np.ndarray  # f32 [units, n_obs, 16]
    action: np.ndarray  # i32 [units, 16]
    log_prob: np.ndarray  # f32 [units, 16]
    value: np.ndarray  # f32 [units, 16]
    advantage: np.ndarray  # f32 [units, 16]
    returns: np.ndarray  # f32 [units, 16]
    mask: np.ndarray  # u32 [units, words, 16]: bit k % 32 of word k // 32 allows action k; no words without a mask
    begins: np.ndarray  # f32 [units, 16]: 1 where an episode begins, so that a memory is empty; no units without one
    states: np.ndarray  # f32 [sequences, 2 memory, 16]: the memories before each sequence; none without a memory

    @staticmethod
    def sizes(spec: PlayedSpec, memory: int = 0, length: int = 1) -> tuple[int, int, int, int]:
        """Observations and words of the mask of a compiled drill, units of the memory, decisions of a sequence."""
        words = -(-spec.n_actions // 32) if spec.masked else 0
        return spec.n_obs, words, memory, length

    @classmethod
    def floats(cls, units: int, n_obs: int, mask_words: int = 0, memory: int = 0, length: int = 1) -> int:
        """Number of 4-byte words in `units` units."""
        return sum(map(math.prod, cls._shapes(units, n_obs, mask_words, memory, length)))

    @staticmethod
    def _shapes(units: int, n_obs: int, mask_words: int, memory: int, length: int) -> list[tuple[int, ...]]:
        remembered = [(units, LANES), (units // length, 2 * memory, LANES)] if memory else [(0, LANES), (0, 0, LANES)]
        return [(units, n_obs, LANES), *[(units, LANES)] * 5, (units, mask_words, LANES), *remembered]

    @classmethod
    def over(
        cls, block: np.ndarray, units: int, n_obs: int, mask_words: int = 0, memory: int = 0, length: int = 1
    ) -> Samples:
        """Views of the first words of a float32 array, as many as `floats` says."""
        shapes = cls._shapes(units, n_obs, mask_words, memory, length)
        ends = np.cumsum([math.prod(shape) for shape in shapes])
        parts = zip(np.split(block[: ends[-1]], ends[:-1]), shapes, strict=True)
        arrays = [part.reshape(shape) for part, shape in parts]
        arrays[1], arrays[6] = arrays[1].view(np.int32), arrays[6].view(np.uint32)
        return cls(*arrays)

    @classmethod
    def new(cls, units: int, *sizes: int) -> Samples:
        """Samples in new memory; `sizes` as for `over`."""
        return cls.over(aligned(cls.floats(units, *sizes)), units, *sizes)

    @property
    def length(self) -> int:
        """Decisions of a sequence; 1 without a memory. Those of sequence s are the units `(s // 2 * length + t) 2 + s %
        2`.
        """
        return len(self.action) // len(self.states) if len(self.states) else 1

    def mean_return(self, units: np.ndarray) -> float:
        """Mean of the `returns` of these units, int64 indices."""
        return float(np.mean(self.returns[units]))

    @functools.cached_property
    def addresses(self) -> tuple[int, ...]:
        """Address of each array, in the order of the fields; 0 for one without numbers."""
        arrays = (getattr(self, field.name) for field in dataclasses.fields(self))
        return tuple(array.ctypes.data if array.size else 0 for array in arrays)


def opponent_kind(name: str, spec: PlayedSpec) -> int:
    """The code of "self", "random", "idle" or one of the drill's baselines; raises ValueError."""
    known = {"self": SELF, "random": RANDOM, "idle": IDLE, **{b: k for k, b in enumerate(spec.baselines)}}
    if name not in known:
        raise ValueError(f"unknown opponent {name!r} for {spec.name}: choose from {', '.join(known)}")
    return known[name]


def share_tiles(n_tiles: int, shares: Mapping[int, float]) -> np.ndarray:
    """int64 `[n_tiles]` opponent kinds in the given shares (largest remainders), spread evenly over the tiles."""
    total = sum(shares.values())
    if total <= 0 or min(shares.values()) < 0:
        raise ValueError(f"opponents' shares must not be negative and their sum must be above 0; got {dict(shares)}")
    exact = {kind: n_tiles * share / total for kind, share in shares.items()}
    counts = {kind: int(x) for kind, x in exact.items()}
    for kind in sorted(exact, key=lambda k: counts[k] - exact[k])[: n_tiles - sum(counts.values())]:
        counts[kind] += 1
    places = sorted((((j + 0.5) / n, kind) for kind, n in counts.items() for j in range(n)))
    return np.array([kind for _, kind in places], np.int64)


def alternate_sides(kinds: np.ndarray) -> np.ndarray:
    """int64 `[n_tiles]`: the side that learns in each tile; those of a kind take turns, whatever lies between them."""
    sides = np.zeros(len(kinds), np.int64)
    for kind in np.unique(kinds):
        sides[kinds == kind] = np.arange((kinds == kind).sum()) % 2
    return sides


def make_groups(kinds: np.ndarray, sides: int, learning: np.ndarray | None = None) -> np.ndarray:
    """int64 `[n, 4]` groups of tiles: both sides of a self-play tile, or two tiles' learning sides, which are
    `learning` int64 `[n_tiles]`; None: `alternate_sides`."""
    groups = [(b, 0, b, 1) for b, kind in enumerate(kinds) if sides == 2 and kind == SELF]
    learning = alternate_sides(kinds) if learning is None else learning
    singles = [
        (int(kind), b, int(learning[b]) if sides == 2 else 0)
        for b, kind in enumerate(kinds)
        if sides == 1 or kind != SELF
    ]
    singles.sort()
    for first, second in zip(singles[::2], singles[1::2], strict=False):
        groups.append((*first[1:], *second[1:]))
    if len(singles) % 2:
        groups.append((*singles[-1][1:], -1, 0))
    return np.array(groups, np.int64).reshape(-1, 4)


def empty_stats(n_terms: int) -> np.ndarray:
    """f64 `[len(STATS) + n_terms]`: the sums over no games, to be added to."""
    stats = np.zeros(len(STATS) + n_terms)
    stats[RETURN_MIN], stats[RETURN_MAX] = np.inf, -np.inf
    return stats


class Rollouts:
    """Games of one drill that continue from rollout to rollout, and their samples.

    `parts` threads may each call `play(part=...)` at once: they share no memory that both write. `spec` is a compiled
    drill's; `shares` maps opponents (names, or codes for policies given to `play`) to shares of the games; `separate`
    says that the policies' hidden layers are two networks side by side. `among` (first, all) says that these games are
    the tiles from `first` on of `all` tiles over which the shares are dealt out, those of several processes.
    """

    def __init__(
        self,
        game: Any,
        spec: PlayedSpec,
        layers: Sequence[int],
        activation: int,
        *,
        games: int,
        length: int,
        shares: Mapping[Any, float],
        seed: int,
        parts: int = 1,
        separate: bool = False,
        among: tuple[int, int] | None = None,
    ):
        if games % LANES or games < LANES:
            raise ValueError(f"games come in tiles of {LANES}: expected a positive multiple of it, got {games}")
        self.game, self.spec, self.verbs, self.length, self.activation = game, spec, game.verbs, length, activation
        self.plan = make_plan(layers, separate)
        self.n_tiles, self.sides = games // LANES, spec.sides
        self.seed, self.count = seed & 0xFFFFFFFF, 0
        codes = {
            who if isinstance(who, int) else opponent_kind(who, spec): share for who, share in shares.items() if share
        }
        first, tiles = among or (0, self.n_tiles)
        if not 0 <= first <= tiles - self.n_tiles:
            raise ValueError(
                f"expected tiles among all of them, got the tiles {first} to {first + self.n_tiles} of {tiles}"
            )
        kinds = share_tiles(tiles, codes if self.sides == 2 else {SELF: 1.0})
        learning, here = alternate_sides(kinds), slice(first, first + self.n_tiles)
        self.opponents = kinds[here].copy()
        self.slots = max(0, POLICY + 1 - int(self.opponents.min()))
        draws = Draws(self.seed, STARTS)
        in_order = make_groups(self.opponents, self.sides, learning[here])
        self.groups = in_order[draws.permutation(len(in_order))]
        self.bounds = np.arange(parts + 1) * len(self.groups) // parts
        self.weights = np.array([term.weight for term in spec.terms], np.float32)
        self.potential = np.array([term.kind == "potential" for term in spec.terms], np.bool_)
        self.running = aligned((self.n_tiles, self.sides, LANES))
        self.memories = aligned((self.n_tiles, self.sides, 2 * int(self.plan[0, UNITS]), LANES))
        floats = scratch_floats(self.plan, spec, length)
        self.scratch = aligned((parts, floats))
        self.tiles = game.new(self.n_tiles)
        self.scenes = np.zeros((0, self.tiles.itemsize // (4 * LANES)), np.uint32)
        self.scene_share = 0.0
        self.tiles["rng_key"] = draws.words(games).reshape(self.n_tiles, LANES)
        self.tiles["practice"] = 1
        reset_tiles(self.verbs, self.tiles.ctypes.data, self.tiles.strides[0], self.n_tiles)
        game.raise_kept()
        decisions = max(1, spec.time_limit // spec.action_repeat)
        self.tiles["ticks"] = draws.below(decisions, games).reshape(self.n_tiles, LANES) * spec.action_repeat

    @property
    def units(self) -> int:
        """Units of 16 samples that one rollout fills."""
        return len(self.groups) * self.length * 2

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """What `Samples.new` and `Samples.over` are told besides the number of units."""
        return Samples.sizes(self.spec, int(self.plan[0, UNITS]), self.length)

    @property
    def trainable(self) -> np.ndarray:
        """int64 indices of the units to learn from: all, or all but the second halves of a group of one tile."""
        keep = np.ones((len(self.groups), self.length, 2), bool)
        keep[self.groups[:, 2] < 0, :, 1] = False
        return np.flatnonzero(keep.ravel())

    def new_stats(self) -> np.ndarray:
        """f64 zeros for `play` to add to: `STATS`, then one sum per reward term."""
        return empty_stats(len(self.weights))

    def practise(self, scenes: np.ndarray) -> None:
        """Start a share `scene_share` of new episodes from one of `scenes`, u32 `[n, words]`, all equally likely."""
        words = self.scenes.shape[1]
        if scenes.ndim != 2 or scenes.shape[1] != words:
            raise ValueError(f"expected scenes of {words} words each, got an array of shape {scenes.shape}")
        self.scenes = np.ascontiguousarray(scenes, np.uint32)

    def play(
        self,
        params: np.ndarray,
        samples: Samples,
        stats: np.ndarray,
        *,
        gamma: float,
        gae_lambda: float,
        policies: np.ndarray | None = None,
        part: int = 0,
    ) -> None:
        """Play one part's games for `length` decisions. `params`: padded parameters; `policies`: f32 `[k, n]` of the
        same kind, those of the opponents that are policies. Raises ValueError for too few of them.

        After all parts have played, call `advance`.
        """
        given = 0 if policies is None else len(policies)
        if given < self.slots:
            raise ValueError(f"these games have {self.slots} policies as opponents, got {given}: pass `policies`")
        low, high = self.bounds[part], self.bounds[part + 1]
        memories = self.memories.ctypes.data if self.memories.size else 0
        given_policies = (0, 0) if policies is None else (policies.ctypes.data, policies.strides[0])
        play(
            (
                self.verbs,
                self.tiles.ctypes.data,
                self.tiles.strides[0],
                shape_of(self.spec),
                self.opponents,
                self.running,
                memories,
            ),
            (self.plan, self.activation, params.ctypes.data, *given_policies),
            (self.weights, self.potential, np.float32(gamma), np.float32(gae_lambda)),
            (self.seed, self.count, self.scenes, np.float32(self.scene_share)),
            self.groups[low:high],
            self.length,
            samples.addresses,
            int(low) * self.length * 2,
            stats,
            self.scratch[part].ctypes.data,
        )
        self.game.raise_kept()

    def advance(self) -> None:
        """Move the actions' generator past the last rollout."""
        self.count = (self.count + self.length) & 0xFFFFFFFF

    def mend(self, samples: Samples) -> int:
        """Restart every game with non-finite numbers, and return how many there were. They show in the rollout's
        advantages or in its last observations.
        """
        shape = (len(self.groups), self.length, 2)
        obs = samples.obs.reshape(*shape, -1, LANES)[:, -1]
        advantage = samples.advantage.reshape(*shape, LANES)
        broken = ~np.isfinite(obs).all(axis=2) | ~np.isfinite(advantage).all(axis=1)  # [groups, 2, lanes]
        if not broken.any():
            return 0
        group, half, lane = np.nonzero(broken)
        pairs = np.stack([self.groups[group, 2 * half], lane], axis=1)
        pairs = np.unique(pairs[pairs[:, 0] >= 0], axis=0)
        reset_lanes(self.verbs, self.tiles.ctypes.data, self.tiles.strides[0], pairs)
        self.game.raise_kept()
        self.running[pairs[:, 0], :, pairs[:, 1]] = 0
        self.memories[pairs[:, 0], :, :, pairs[:, 1]] = 0
        return len(pairs)


@dataclasses.dataclass(frozen=True)
class Player:
    """One side of a match: a code (`RANDOM`, `IDLE`, a baseline's index), or with `POLICY` a network and its flat
    blob."""

    kind: int
    layers: tuple[int, ...] = (1, 1)
    activation: int = 1
    blob: np.ndarray | None = None


@dataclasses.dataclass(frozen=True)
class Matches:
    """Results of finished matches from the first player's view."""

    result: np.ndarray  # i32 [games] +1 won, -1 lost, 0 drawn
    length: np.ndarray  # i32 [games] decisions
    returns: np.ndarray  # f32 [games] undiscounted rewards, potentials left out
    side: np.ndarray  # i64 [games] the side that the first player had
    start: np.ndarray  # u32 [games, words] the state that each game began with, if actions are kept; else no games
    actions: np.ndarray  # i32 [games, decisions, sides]; a game's own are the first `length` of them


class Starts(NamedTuple):
    """Matches before their first decision, 16 to a tile; lanes that are not in `pick` are played for nobody."""

    tiles: np.ndarray
    side_of: np.ndarray
    """Which side the first player has, int `[tiles]`."""
    pick: np.ndarray
    """The lane of each match, int `[matches]`."""


def match_starts(game: Any, spec: PlayedSpec, games: int, seed: int, scene: np.ndarray | None = None) -> Starts:
    """Proper starts of `games` matches; the first player has side 0 in the first half and side 1 in the second. With
    `scene`, u32 `[words]`, all begin there and the first player has side 0. Raises ValueError for no matches.
    """
    if games < 1:
        raise ValueError(f"the number of matches must be at least 1, got {games}")
    halves = ((games + 1) // 2, games // 2) if spec.sides == 2 and scene is None else (games, 0)
    tiles_of = [-(-half // LANES) for half in halves]
    count = sum(tiles_of)
    tiles = game.new(count)
    tiles["rng_key"] = Draws(seed & 0xFFFFFFFF, MATCH_STARTS).words(count * LANES).reshape(count, LANES)
    reset_tiles(game.verbs, tiles.ctypes.data, tiles.strides[0], count)
    game.raise_kept()
    if scene is not None:
        words = tiles.view(np.uint32).reshape(count, -1, LANES)
        words[:, KEPT_WORDS:] = scene[KEPT_WORDS:, None]
    pick = np.concatenate([np.arange(halves[0]), tiles_of[0] * LANES + np.arange(halves[1])])
    return Starts(tiles, np.repeat(np.arange(2), tiles_of), pick)


def match_pay(spec: PlayedSpec) -> np.ndarray:
    """What a term pays in a match, f32 `[terms]`: potentials nothing."""
    return np.array([0.0 if t.kind == "potential" else t.weight for t in spec.terms], np.float32)


def play_matches(
    game: Any,
    spec: PlayedSpec,
    first: Player,
    second: Player,
    games: int,
    *,
    seed: int,
    greedy: bool = False,
    scene: np.ndarray | None = None,
    keep_actions: bool = False,
) -> Matches:
    """Plays `games` matches, each once, from proper starts; the first player has side 0 in the first half and side 1
    in the second. With `scene`, u32 `[words]`, all begin there and the first player has side 0 in all of them. With
    `keep_actions` the result says how each began and what was done in it."""
    tiles, side_of, pick = match_starts(game, spec, games, seed, scene)
    sides, count = spec.sides, len(side_of)
    players = (first, second)
    plans = tuple(make_plan(player.layers) for player in players)
    blocks = [aligned(16) if p.blob is None else pack(plan, p.blob) for p, plan in zip(players, plans, strict=True)]
    for player in players:
        if player.kind <= POLICY and (
            player.blob is None or player.layers[0] != spec.n_obs or player.layers[-1] != spec.n_actions + 1
        ):
            raise ValueError(
                f"{spec.name} needs a policy of {spec.n_obs} inputs and {spec.n_actions + 1} outputs; "
                f"got layers {list(player.layers)}"
            )
    results, lengths = np.zeros((count, LANES), np.int32), np.zeros((count, LANES), np.int32)
    returns = np.zeros((count, LANES), np.float32)
    most = -(-spec.time_limit // spec.action_repeat) if keep_actions else 0
    actions = np.zeros((count, most, sides, LANES), np.int32)
    start = tiles.view(np.uint32).reshape(count, -1, LANES).copy()
    scratch = aligned(max(scratch_floats(plan, spec, 1) for plan in plans))
    memories = [aligned((count, 2 * int(plan[0, UNITS]), LANES)) for plan in plans]
    match_tiles(
        game.verbs,
        tiles.ctypes.data,
        tiles.strides[0],
        shape_of(spec),
        side_of,
        tuple(p.kind for p in players),
        plans,
        tuple(p.activation for p in players),
        tuple(block.ctypes.data for block in blocks),
        spec.n_actions,
        greedy,
        seed & 0xFFFFFFFF,
        match_pay(spec),
        results,
        lengths,
        returns,
        actions.ctypes.data if keep_actions else 0,
        tuple(memory.ctypes.data if memory.size else 0 for memory in memories),
        scratch.ctypes.data,
    )
    game.raise_kept()
    start = start.transpose(0, 2, 1).reshape(count * LANES, -1)[pick if keep_actions else pick[:0]]
    taken = actions.transpose(0, 3, 1, 2).reshape(count * LANES, most, sides)[pick]
    rows = [array.ravel()[pick] for array in (results, lengths, returns, side_of.repeat(LANES))]
    return Matches(rows[0], rows[1], rows[2], rows[3], start, taken)
