"""The source of a run: games that are played into the replay ring, and the sequences that are due from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from dshq_kernels.play.loops import STATS
from dshq_widget.algorithms.dreamer import replay_file
from dshq_widget.algorithms.dreamer.actor import Actor
from dshq_widget.algorithms.dreamer.model.agent import Player
from dshq_widget.algorithms.dreamer.model.tensors import continue_chance, from_arrays, to_arrays
from dshq_widget.algorithms.dreamer.settings import DreamerSettings
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.learning import seeds
from dshq_widget.learning.parts import Experience, SimpleSource
from dshq_widget.learning.saved import fingerprint
from dshq_widget.learning.saved.saved_state import MOST
from dshq_widget.learning.telemetry.report import merge

MEMORY, SAMPLING, COUNTS = "train.dreamer.player.", "train.dreamer.sampling", "train.dreamer.counts"
MOST_ROWS = 16
"""Rows played before the run looks for commands again (assumed)."""


class DreamerGames(SimpleSource):
    """Plays rows until, at the replay ratio, a batch is due. Actor and learner take turns, so a run with the same seed
    is the same run.
    """

    def __init__(
        self, actor: Actor, player: Player, settings: DreamerSettings, seed: int, warn: Callable[[str], None]
    ) -> None:
        self.actor, self.player, self.settings, self._warn = actor, player, settings, warn
        self.chance = torch.Generator(actor.ring.device).manual_seed(seeds.apart(seed, seeds.SEQUENCES))
        self.due = 0.0
        """Steps that may be replayed."""
        self.replayed = self.played = 0
        self._stats: list[Any] = []
        """Of the rows since the last batch, as the actor returned them."""
        self._decisions = 0

    def next(self, learner: object, config: TrainConfig, version: int) -> Experience | None:
        """The next batch, `[T, B, ...]` by name, and the decisions since; None after `MOST_ROWS` rows without one."""
        with self.actor.turn():
            found = self._due()
        return None if found is None else self._handed(found)

    def _due(self) -> dict[str, torch.Tensor] | None:
        """Rows until a batch is due, and its sequences."""
        settings, actor = self.settings, self.actor
        for _ in range(MOST_ROWS):
            if self.due >= settings.batch * settings.sequence:
                found = actor.sample(settings.batch, settings.sequence, self.chance)
                if found is not None:
                    return found
            self._play()
        return None

    def _play(self) -> None:
        """One row: random play until the prefill is there."""
        settings, actor = self.settings, self.actor
        random = actor.ring.total * settings.games < settings.prefill
        choice = (actor.random, None) if random else (self.player, self.player.memory)
        self._stats.append(actor.step(*choice))
        self.played += settings.games
        self.due += 0.0 if random else settings.ratio * settings.games

    def _sums(self) -> tuple[NDArray[Any], int]:
        """Stats of the rows since the last batch, and their decisions, those before a restart included."""
        stats = merge(self.actor.on_host(self._stats or [self.actor.games.stats()]))
        return stats, self._decisions + int(stats[STATS.index("agent_steps")])

    def _handed(self, found: dict[str, torch.Tensor]) -> Experience:
        steps = self.settings.batch * self.settings.sequence
        stats, decisions = self._sums()
        handed = Experience(found, np.zeros(0, np.int64), stats, decisions=decisions)
        self._stats, self._decisions = [], 0
        self.due -= steps
        self.replayed += steps
        return handed

    def change(self, settings: DreamerSettings) -> None:
        """Play by other settings from now on; with an empty ring where what is in it was paid with another discount."""
        games = self.actor.games
        then, self.settings = games.made_with(), settings
        games.pay_at(settings.discount)
        if said := fingerprint.difference(then, games.made_with()):
            self._begin_anew(said)

    def _begin_anew(self, why: str) -> None:
        self.actor.begin_anew()
        self._warn(f"{why}, and the games start over")

    def state(self) -> dict[str, NDArray[Any]]:
        """Ring, games, the player's memory and every generator, for an exact continuation."""
        return {
            **replay_file.packed(self.actor.ring),
            **fingerprint.packed(self.actor.games.made_with()),
            **self.actor.state(),
            **to_arrays(MEMORY, self.player.state()),
            SAMPLING: self.chance.get_state().numpy().copy(),
            COUNTS: np.array([self.due, self.replayed, self.played, self._sums()[1]], np.float64),
        }

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take over what `state` returned. With another ring, another number of games or another fingerprint, games
        start over, and the ring is filled again: `warn` says so.
        """
        actor = self.actor
        if COUNTS not in state:
            return
        if said := fingerprint.difference(fingerprint.unpacked(state), actor.games.made_with()):
            self._begin_anew(said)
            return
        if not (replay_file.unpack(state, actor.ring, actor.games.n_actions) and actor.restore(state)):
            self._begin_anew("the replay ring has another shape than the file's: it begins empty")
            return
        self.player.restore(from_arrays(MEMORY, state))
        continue_chance(self.chance, torch.from_numpy(state[SAMPLING].copy()))
        settings = self.settings
        # with more it only plays or learns
        most_due = settings.batch * settings.sequence + settings.ratio * settings.games
        self.due, replayed, played, decisions = np.clip(state[COUNTS], 0, (most_due, MOST, MOST, MOST)).tolist()
        self.replayed, self.played, self._decisions = int(replayed), int(played), int(decisions)
