"""The self-play league: earlier policies kept as opponents, rated against pinned ones, and the champion among them.

Every round adds the learner's current weights as a snapshot. It plays the pinned opponents, the champion and a few
older snapshots, with sides swapped halfway, and adds a row to the cross table; ratings are fitted to the whole table.
succession.py says who becomes champion, and whether the policy has fallen below what it could. Retention and
sampling follow the Ball Drill specification. All choices are drawn from the seed and counted rounds, and rounds are due
by updates and agent steps, never by the clock, so the same run has the same league.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dshq_kernels.play.rollout import Player
from dshq_kernels.run.draws import Draws
from dshq_widget.contract.finite import is_finite, unusable
from dshq_widget.contract.setting import ConfigError
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.learning import elo
from dshq_widget.learning.league.succession import MOST_MATCHES, Champion, Succession, as_count
from dshq_widget.policy.checkpoint import Checkpoint, CheckpointError
from dshq_widget.policy.evaluate import evaluate, network, opponent
from dshq_widget.policy.network import PolicySpec

CAPACITY, RECENT, BEST = 100, 0.6, 0.2
"""Snapshots kept, and the shares of them kept for being new and for being strong; the rest are random older ones."""
MOST_BYTES = 8 << 20
"""Larger networks have a smaller pool, so that a checkpoint with it stays small (assumed)."""
LATEST, UNIFORM = 0.1, 0.3
"""Shares of opponents drawn: the newest snapshot, whom self-play is against anyway, any, and else one that the learner
finds hard. With half of them the newest, a run came to lose to its own version of 500 million steps ago (measured:
benchmarks/stronger.py).
"""
HARDNESS = 2
"""A hard one is drawn in proportion to (1 - win rate)^2: O. Vinyals et al., "Grandmaster level in StarCraft II", 2019,
f_hard."""
EMA = 0.05
"""Weight of one match in the win rate against a snapshot."""
PINNED_MATCHES, CHAMPION_MATCHES, RIVAL_MATCHES, RIVALS = 128, 128, 8, 16
"""Matches of a newcomer with each pinned opponent, with the champion, with each other snapshot it meets, and how many
of these it meets (128 leave a standard error of 4 % at 50 %, 2 % at 95 %): few with many, so that it is known who is
hard.
"""
CHAMPION_SERIES = 31
"""Between the series of rivals and those of succession.py."""
ROUND_SERIES = 256
"""Series of matches that a round may have."""
BASE_ELO, BASE_MATCHES = 1000.0, 2048
"""Rating of random play; the first baseline's rating follows from its matches with random play."""
MEETINGS, LEAVERS, OPPONENTS = 0x1EA6, 0x0FF, 0xD4A3
"""Of the draws of a round's rivals, of who leaves and of the pool, beside the seed and how many there were."""
MOST_SNAPSHOTS = 2 * CAPACITY
"""In a file: those that somebody plays against stay, too. Ratings take time with the third power of their number."""
MOST_NOTES = 4 << 20
"""Bytes of what a file says of a league (assumed; a full one has a twentieth): as JSON of nothing but brackets they
take twenty times that.
"""
THRIFT = 24
"""Agent steps of training for each decision of a round, at least: on the Ball Drill a round then takes about 3 % of the
time at 1.2 million agent steps/s (measured)."""


@dataclasses.dataclass
class Snapshot:
    """One earlier policy."""

    weights: np.ndarray
    """f32, the policy blob."""
    number: int
    """The round that admitted it."""
    version: int
    step: int
    """Agent steps learned from."""
    hyper: dict[str, Any]
    """The settings of its update."""
    share: float
    """Its points per match against the pinned opponents."""
    win_rate: float = 0.5
    """The learner's points per match against it, smoothed."""
    fallen: bool = False
    """Whether it was found to have fallen in its round, so that the run went back."""

    @property
    def name(self) -> str:
        return f"v{self.version}"


def _snapshot(weights: np.ndarray, note: Mapping[str, Any]) -> Snapshot:
    """A snapshot of a file's notes; raises KeyError, TypeError or ValueError if they describe none."""
    found = Snapshot(weights, **note)
    for count in (found.number, found.version, found.step):
        as_count(count)
    shares = all(is_finite(share) and 0 <= share <= 1 for share in (found.share, found.win_rate))
    if not shares or not isinstance(found.hyper, dict) or not isinstance(found.fallen, bool):
        raise ValueError(f"wanted shares from 0 to 1 and settings, got {note!r:.80}")
    return found


class League:
    """The snapshots, their results against each other and the pinned opponents, and who is drawn as an opponent.

    A drill of one side has no league: no round is ever due.
    """

    def __init__(self, drill: CompiledDrill, spec: PolicySpec, seed: int):
        self.drill, self.spec, self.seed = drill, spec, seed
        names = ["random", *drill.spec.baselines[:1]] if drill.spec.sides == 2 else []
        self.pinned: dict[str, Player] = {name: opponent(name, drill) for name in names}
        self.capacity = int(np.clip(MOST_BYTES // (4 * spec.floats), 10, CAPACITY))
        self.snapshots: list[Snapshot] = []
        self.succession = Succession(names, self._against_pinned)
        self.opponents: list[np.ndarray] = []
        """The opponents that `draw` chose last."""
        self.kept: set[int] = set()
        """Versions that stay, whatever their age and strength: somebody plays against them."""
        self.rounds = self.draws = self.last_updates = self.last_step = 0
        size = len(names)
        self.points, self.matches = np.zeros((size, size)), np.zeros((size, size))
        self._pinned_elo: list[float] = []
        self._elo, self._half = np.zeros(size), np.zeros(size)

    # ---- rounds

    def due(self, updates: int, step: int, every: int) -> bool:
        """Whether `every` updates and enough agent steps for its cost have passed since the last round."""
        if not self.pinned or not self.snapshots:
            return bool(self.pinned)
        decisions = self.drill.spec.time_limit / self.drill.spec.action_repeat
        cost = decisions * (len(self.pinned) * PINNED_MATCHES + 2 * (RIVALS * RIVAL_MATCHES + CHAMPION_MATCHES))
        return updates - self.last_updates >= every and step - self.last_step >= THRIFT * cost

    @property
    def champion(self) -> Champion | None:
        """The newest policy that was not worse than the champion before it."""
        return self.succession.champion

    def hold_round(
        self,
        weights: np.ndarray,
        version: int,
        step: int,
        updates: int,
        hyper: Mapping[str, Any],
        *,
        watch: bool = True,
    ) -> str:
        """Add `weights` and play their matches. Returns "" or, as part of a sentence, how far the policy has fallen
        against a pinned opponent; with `watch` false that is not tested.
        """
        first, champion = len(self.pinned), self.champion
        row = np.zeros((2, len(self.points)))
        for k in range(first):
            row[:, k] = self._against_pinned(weights, k, PINNED_MATCHES, k), PINNED_MATCHES
        for k, rival in enumerate(self._rivals()):
            row[:, first + rival] = self._meet(weights, self.snapshots[rival], RIVAL_MATCHES, first + k), RIVAL_MATCHES
        even = True
        if champion is not None:
            held = next((k for k, snapshot in enumerate(self.snapshots) if snapshot.version == champion.version), None)
            met = Snapshot(champion.weights, 0, champion.version, champion.step, {}, 0.0)
            met = met if held is None else self.snapshots[held]
            won = self._meet(weights, met, CHAMPION_MATCHES, CHAMPION_SERIES)
            even = 2 * won >= CHAMPION_MATCHES
            if held is not None:
                row[:, first + held] = won, CHAMPION_MATCHES
        points = row[0, :first].tolist()
        share = sum(points) / (PINNED_MATCHES * first)
        self._admit(Snapshot(weights, self.rounds, version, step, dict(hyper), share), *row)
        newcomer = Champion(weights, version, step)
        problem = self.succession.after_round(newcomer, points, PINNED_MATCHES, even, watch)
        self.snapshots[-1].fallen = bool(problem)
        self.rounds, self.last_updates, self.last_step = self.rounds + 1, updates, step
        return problem

    def _rivals(self) -> list[int]:
        """Opponents of the new snapshot beside the champion: the newest one, one hard one, any others."""
        champion = None if self.champion is None else self.champion.version
        places = [k for k, snapshot in enumerate(self.snapshots) if snapshot.version != champion]
        if len(places) <= RIVALS:
            return places
        draws = Draws(self.seed, MEETINGS, self.rounds)
        hard = self._hard([self.snapshots[k] for k in places[:-1]])
        chosen = [places[-1], places[draws.weighted(hard, 1)[0]]]
        others = [k for k in places if k not in chosen]
        return [*chosen, *(others[k] for k in draws.different(len(others), RIVALS - len(chosen)))]

    def _meet(self, weights: np.ndarray, snapshot: Snapshot, matches: int, series: int) -> float:
        """Points of the newcomer against a snapshot, whose `win_rate` follows."""
        won = self._match(weights, self._player(snapshot.weights), matches, series)
        kept = (1 - EMA) ** matches  # as if the matches had come in one by one, each with their mean
        snapshot.win_rate = kept * snapshot.win_rate + (1 - kept) * won / matches
        return won

    def _against_pinned(self, weights: np.ndarray, opponent: int, matches: int, series: int) -> float:
        """Points of `weights` against the pinned opponent of that place."""
        return self._match(weights, list(self.pinned.values())[opponent], matches, series)

    def _match(self, weights: np.ndarray, player: Player, matches: int, series: int) -> float:
        """Points of `weights` in matches with seeds that are unique in this run."""
        seed = self.seed + 1 + self.rounds * ROUND_SERIES + series
        result = evaluate(self.drill, self._player(weights), player, matches, seed=seed)
        return result["wins"] + result["draws"] / 2

    def _player(self, weights: np.ndarray) -> Player:
        return network(self.spec.layers, self.spec.activation, weights)

    # ---- who stays, who is strong

    def go_back(self, step: int) -> None:
        """Forget what was learned after `step` agent steps, except whom somebody plays against: a run continues from an
        earlier policy (champion.py). Newer ones would bear the names of those to come, and the next round would wait
        for their steps.
        """
        for index in reversed(self._free):
            if self.snapshots[index].step > step:
                self._dismiss(index)
        self.last_step = min(self.last_step, step)

    def _admit(self, newcomer: Snapshot, points: np.ndarray, matches: np.ndarray) -> None:
        """Add a row to the cross table, rate all players, and drop one snapshot if there are too many."""
        self.snapshots.append(newcomer)
        self.points, self.matches = np.pad(self.points, (0, 1)), np.pad(self.matches, (0, 1))
        self.points[-1, :-1], self.points[:-1, -1] = points, matches - points
        self.matches[-1, :-1] = self.matches[:-1, -1] = matches
        self._rate()
        if len(self._free) > self.capacity:
            self._dismiss(self._leaver())

    def _rate(self) -> None:
        if len(self._pinned_elo) < len(self.pinned):
            self._pin()
        pinned = np.full(len(self.points), np.nan)
        pinned[: len(self.pinned)] = self._pinned_elo
        self._elo, self._half = elo.ratings(self.points, self.matches, pinned)

    def _pin(self) -> None:
        """Ratings of the pinned players: `BASE_ELO` for random play, and the baseline's from its matches with random
        play, with the same seeds in every run.
        """
        names = list(self.pinned)
        self._pinned_elo = [BASE_ELO]
        for name in names[1:]:
            result = evaluate(self.drill, self.pinned[name], self.pinned[names[0]], BASE_MATCHES)
            gap = elo.difference(result["wins"] + result["draws"] / 2, BASE_MATCHES)
            self._pinned_elo.append(BASE_ELO + gap)

    def keep(self, versions: Iterable[int]) -> None:
        """These never leave."""
        self.kept = set(versions)

    @property
    def _free(self) -> list[int]:
        """The snapshots that may leave, oldest first."""
        return [k for k, snapshot in enumerate(self.snapshots) if snapshot.version not in self.kept]

    def _leaver(self) -> int:
        """One of the snapshots that are neither kept, nor champion, nor among the newest, nor the best older ones."""
        older = np.array(self._free[: len(self._free) - round(RECENT * self.capacity)])
        weakest_first = older[np.argsort(self._elo[len(self.pinned) + older], kind="stable")]
        weakest = weakest_first[: len(older) - round(BEST * self.capacity)].tolist()
        champion = None if self.champion is None else self.champion.version
        leavers = [k for k in weakest if self.snapshots[k].version != champion]
        return leavers[Draws(self.seed, LEAVERS, self.rounds).below(len(leavers), 1)[0]]

    def _dismiss(self, index: int) -> None:
        del self.snapshots[index]
        place = len(self.pinned) + index
        self.points, self.matches = (
            np.delete(np.delete(table, place, 0), place, 1) for table in (self.points, self.matches)
        )
        self._elo, self._half = np.delete(self._elo, place), np.delete(self._half, place)

    # ---- opponents

    def draw(self, count: int) -> list[np.ndarray]:
        """Draw `count` opponents and return their weights: one in ten the newest, three any, six hard ones."""
        draws = Draws(self.seed, OPPONENTS, self.draws)
        self.draws += 1
        hard = self._hard(self.snapshots)
        chosen = []
        for u in draws.uniform(count):
            if u < LATEST:
                chosen.append(self._newest)
            elif u < LATEST + UNIFORM:
                chosen.append(int(draws.below(len(self.snapshots), 1)[0]))
            else:
                chosen.append(int(draws.weighted(hard, 1)[0]))
        self.opponents = [self.snapshots[k].weights for k in chosen]
        return self.opponents

    def weights_of(self, version: int) -> np.ndarray:
        """f32, the policy blob of a snapshot; raises ConfigError if there is none of that version."""
        for snapshot in self.snapshots:
            if snapshot.version == version:
                return snapshot.weights
        known = ", ".join(snapshot.name for snapshot in self.snapshots)
        raise ConfigError(f"opponents: wanted a version of this league ({known}), got 'v{version}'")

    @property
    def _newest(self) -> int:
        """Place of the newest snapshot that had not fallen; the first one never has."""
        return max((k for k, snapshot in enumerate(self.snapshots) if not snapshot.fallen), default=-1)

    @staticmethod
    def _hard(snapshots: Sequence[Snapshot]) -> np.ndarray:
        """f64 `[n]`, probabilities."""
        weight = np.array([(1 - snapshot.win_rate) ** HARDNESS + 1e-6 for snapshot in snapshots])
        return weight / weight.sum()

    # ---- what others read

    @property
    def metrics(self) -> dict[str, float]:
        """The strength of the newest snapshot that had not fallen."""
        if not self.snapshots:
            return {}
        place = self._newest % len(self.snapshots) + len(self.pinned)
        rating, half = float(self._elo[place]), float(self._half[place])
        return {"elo": rating, "elo_low": rating - half, "elo_high": rating + half}

    def rows(self) -> list[dict[str, Any]]:
        """The cross table as plain JSON values, strongest first: one row per player, `against` only the opponents it
        played.
        """
        if not self.snapshots:
            return []
        names = [*self.pinned, *(snapshot.name for snapshot in self.snapshots)]
        best = None if self.champion is None else self.champion.version
        rows = []
        for k, name in enumerate(names):
            rating, half = float(self._elo[k]), float(self._half[k])
            row = {"name": name, "pinned": k < len(self.pinned), "elo": rating}
            row |= {"elo_low": rating - half, "elo_high": rating + half}
            if k >= len(self.pinned):
                snapshot = self.snapshots[k - len(self.pinned)]
                row |= {key: getattr(snapshot, key) for key in ("version", "step", "share", "win_rate", "hyper")}
                row["champion"] = snapshot.version == best
            met = np.flatnonzero(self.matches[k])
            row["against"] = {names[j]: [float(self.points[k, j]), int(self.matches[k, j])] for j in met}
            rows.append(row)
        return sorted(rows, key=lambda row: -row["elo"])

    # ---- files

    def state(self) -> dict[str, np.ndarray]:
        """State for exact resuming, as a checkpoint's tensors."""
        if not self.snapshots or self.champion is None:
            return {}
        fields = [field.name for field in dataclasses.fields(Snapshot) if field.name != "weights"]
        notes: dict[str, Any] = {key: getattr(self, key) for key in ("rounds", "draws", "last_updates", "last_step")}
        notes["snapshots"] = [{key: getattr(snapshot, key) for key in fields} for snapshot in self.snapshots]
        notes |= self.succession.notes()
        reference = self.succession.reference
        return {
            "train.league.weights": np.stack([snapshot.weights for snapshot in self.snapshots]),
            "train.league.table": np.stack([self.points, self.matches]),
            "train.league.notes": np.frombuffer(json.dumps(notes).encode(), np.uint8),
            "train.league.champion": self.champion.weights,
            **({} if reference is None else {"train.league.reference": reference.weights}),
            "train.league.opponents": np.array(self.opponents, np.float32).reshape(-1, self.spec.floats),
        }

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore what `state` returned, if present; raises CheckpointError if it does not fit."""
        if "train.league.notes" not in state or not self.pinned:
            return
        try:
            if (size := state["train.league.notes"].nbytes) > MOST_NOTES:
                raise ValueError(f"its notes have {size:,} bytes, more than {MOST_NOTES:,}")
            notes = json.loads(state["train.league.notes"].tobytes())
            if wrong := unusable(notes):
                raise ValueError(wrong)
            if (count := len(notes["snapshots"])) > MOST_SNAPSHOTS:
                raise ValueError(f"it has {count} snapshots, more than {MOST_SNAPSHOTS}")
            weights, table = state["train.league.weights"], state["train.league.table"].astype(float)
            champion, opponents = state["train.league.champion"], state["train.league.opponents"]
            reference = state.get("train.league.reference")
            snapshots = [_snapshot(row, note) for row, note in zip(weights, notes["snapshots"], strict=True)]
            succession = Succession(tuple(self.pinned), self._against_pinned)
            succession.restore(notes, champion, reference)
            counts = {key: as_count(notes[key]) for key in ("rounds", "draws", "last_updates", "last_step")}
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError) as error:
            raise CheckpointError(f"its league cannot be read ({error}); load only its weights instead") from error
        size = len(self.pinned) + len(snapshots)
        single = [champion] if reference is None else [champion, reference]
        if any(row.dtype != np.float32 or not np.isfinite(row).all() for row in (weights, opponents, *single)):
            raise CheckpointError("its league has weights that are no finite float32 numbers: load only its weights")
        shapes = {row.shape for row in (*weights, *opponents, *single)}
        if shapes != {(self.spec.floats,)} or table.shape != (2, size, size):
            raise CheckpointError("its league belongs to a different network or has different pinned opponents")
        if not ((table[0] >= 0) & (table[0] <= table[1]) & (table[1] == table[1].T) & (table[1] <= MOST_MATCHES)).all():
            raise CheckpointError("its league has results that no matches give; load only its weights instead")
        self.snapshots, self.succession, self.opponents = snapshots, succession, list(opponents)
        self.points, self.matches = table[0].copy(), table[1].copy()
        for key, count in counts.items():
            setattr(self, key, count)
        self._rate()


def policy_of(drill: CompiledDrill, saved: Checkpoint, version: int | None) -> Checkpoint:
    """`saved` with the weights of a version of its league, of None the champion's. Raises CheckpointError if the file
    has no league, or not that version.
    """
    league = League(drill, PolicySpec(saved.layers, saved.activation), saved.seed)
    league.restore(saved.state)
    if league.champion is None:
        raise CheckpointError("the league is not written yet: choose its version again in a moment")
    found = [row for row in league.snapshots if row.version == version]
    if version is not None and not found:
        known = ", ".join(row.name for row in league.snapshots)
        raise CheckpointError(f"wanted a version of the league ({known}), got v{version}")
    chosen = league.champion if version is None else found[0]
    return dataclasses.replace(saved, weights=chosen.weights, version=chosen.version, step=chosen.step, state={})
