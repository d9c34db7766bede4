"""The match of a widget: its settings, which are the trait `show`, and who plays the other side."""

from __future__ import annotations

from typing import Any

import traitlets

from dshq_widget.contract import messages, protocol
from dshq_widget.contract.finite import finite, plain
from dshq_widget.training.league_policy import LEAGUE
from dshq_widget.widget import page_protocol
from dshq_widget.widget.commands import Commands
from dshq_widget.widget.page_protocol import check_show
from dshq_widget.widget.rivals import Rivals
from dshq_widget.widget.synced import Synced


class Match(Synced):
    """A widget with a match. Wrong values raise ValueError, an opponent's file that does not fit CheckpointError."""

    show = traitlets.Dict().tag(sync=True)
    rivals = traitlets.Dict().tag(sync=True)

    def __init__(self, rivals: Rivals, commands: Commands, **more: Any) -> None:
        self._rivals, self._commands = rivals, commands
        super().__init__(rivals=rivals.known, **more)

    def play(self) -> None:
        """Run the match."""
        self._set_show(playing=True)

    def pause(self) -> None:
        """Pause the match; training continues."""
        self._set_show(playing=False)

    def step(self, unit: messages.Unit = "tick", count: int = 1) -> None:
        """Pause, and advance the match by `count` ticks or decisions."""
        page_protocol.one_of("unit", unit, protocol.STEP_UNITS)
        if (found := finite(count)) is None or found != int(found) or not 1 <= found <= 10_000:
            raise ValueError(f"count must be a whole number from 1 to 10000, got {count!r:.60}")
        self._set_show(playing=False)
        self._outbox.put(messages.Step(unit, int(found)).to_json())

    def reset(self, seed: int | None = None) -> None:
        """Restart the match, from `seed` if one is given."""
        change = {} if seed is None else {"seed": seed}
        self._set_show(match=self.show["match"] + 1, **change)

    @property
    def speed(self) -> float:
        """Speed of the match as a multiple of real time, 0.25 to 32."""
        return self.show["speed"]

    @speed.setter
    def speed(self, value: float) -> None:
        self._set_show(speed=value)

    @property
    def mode(self) -> str:
        """ai_vs_ai, human_vs_ai or sandbox."""
        return self.show["mode"]

    @mode.setter
    def mode(self, value: str) -> None:
        self._set_show(mode=value)

    @property
    def renderer(self) -> str:
        """What draws the match: "auto", "webgpu" or "canvas2d". `auto` is WebGPU where there is one; where a processor
        draws and the same machine trains, the page finds the cheapest picture that still looks fluid.
        """
        return self.show["renderer"]

    @renderer.setter
    def renderer(self, value: str) -> None:
        self._set_show(renderer=value)

    @property
    def opponent(self) -> str:
        """Who plays the other side in the sandbox and against a person: idle, random, a baseline, a policy of the
        ladder (bronze, silver or gold for the Ball Drill), a version of the league (`league:v120`, or `league:best`,
        the champion as it is now) or the path of a `.dshq` file. "" is the drill's first baseline, and against a person
        the newest version once there is one.
        """
        return self.show["opponent"]

    @opponent.setter
    def opponent(self, value: str) -> None:
        self._set_show(opponent=self._rivals.named(value))

    def _set_show(self, **changes: Any) -> None:
        checked = {key: check_show(key, plain(value), self._rivals.opponents) for key, value in changes.items()}
        if "opponent" in checked:
            self._rivals.load(checked["opponent"])
        with self._outbox.lock:
            self.rivals = self._rivals.known
            self.show = {**self.show, **checked}

    def _swap_seconds(self) -> float:
        return max(self.show["swap_interval_ms"], protocol.SWAP_INTERVAL_MS_MIN) / 1000

    # ---- the opponent

    def _met(self) -> None:
        """The page chose an opponent. One of the league is read from the run's file, for which the learner may take
        seconds; the sender thread does not wait for it. One that cannot be had is left for the drill's own.
        """
        opponent = self.show["opponent"]
        try:
            if opponent.startswith(LEAGUE):
                self._commands.beside("loading the opponent", self._load_rival, opponent)
            else:
                self._load_rival(opponent)
        except Exception:
            self._part_from(opponent)
            raise

    def _load_rival(self, opponent: str) -> None:
        """Send the page an opponent's policy, if it has one; raises CheckpointError."""
        try:
            self._rivals.load(opponent)
        except Exception:
            self._part_from(opponent)
            raise
        with self._outbox.lock:
            self.rivals = self._rivals.known

    def _part_from(self, opponent: str) -> None:
        """The drill's own opponent plays in the place of one that is gone."""
        with self._outbox.lock:
            if self.show["opponent"] == opponent:
                self.show = {**self.show, "opponent": ""}

    def _offer_league(self, rows: list[dict[str, Any]]) -> None:
        """The versions of the league are opponents; one that has left it is played no more."""
        self._rivals.offer_league(rows)
        if self.show["opponent"].startswith(LEAGUE) and self.show["opponent"] not in self._rivals.known:
            self._part_from(self.show["opponent"])
