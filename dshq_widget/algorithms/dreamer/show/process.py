"""The process that plays the page's match ahead (env/ahead.py), and dreams for it: docs/explain/dreamer.md. Role
`dshq_widget.algorithms.dreamer.show.process:run`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from dshq_widget.algorithms.dreamer.model.agent import Player
from dshq_widget.algorithms.dreamer.show.dream import STEPS, Dream, Imagined, Latent, reconstructed
from dshq_widget.algorithms.dreamer.show.match import Match
from dshq_widget.algorithms.dreamer.show.policy import ShownPolicy
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.env.ahead import MOST_ASKED, Ahead, Decision, Pages
from dshq_widget.runtime.memory import SharedBlock
from dshq_widget.runtime.process import Channel, role

IDLE_SECONDS = 0.5


@dataclass
class Played(Ahead[Match]):
    """What is played for one page, and what was seen of it."""

    player: Player = field(kw_only=True)
    frames: list[bytes] = field(default_factory=list)
    surprises: list[tuple[int, float]] = field(default_factory=list)
    """Of the frames: tick, and nats."""
    past: OrderedDict[int, tuple[bytes, Latent]] = field(default_factory=OrderedDict)
    """By tick, of the last decisions: the frame, and where the match stood in the model."""
    dream: Dream | None = None


class Show(Pages[Played]):
    """See `Pages`; answers questions about dreams, too."""

    def __init__(self, channel: Channel, drill: CompiledDrill, policy: ShownPolicy, seed: int) -> None:
        super().__init__(channel.send)
        self.drill, self.policy, self.seed = drill, policy, seed

    @property
    def version(self) -> int:
        return self.policy.version

    def renew(self) -> None:
        self.policy.renew()

    def begin(self, start: Mapping[str, Any], before: Played | None, plan: int) -> Played:
        chance = torch.Generator().manual_seed(self.seed + int(start["tick"]))
        match = Match(self.drill, start, self.policy.dreamer.settings.repeat)
        dream = None if before is None else before.dream
        return Played(plan, match, player=Player(self.policy.dreamer, 1, chance), dream=dream)

    def answer(self, kind: str, page: int, played: Played, command: Mapping[str, Any]) -> None:
        if kind == "DREAM":
            self._imagine(page, played, command["tick"])
        elif kind == "ENTER_DREAM":
            self._enter(page, played, command["tick"])
        elif kind == "DREAM_ACT" and played.dream is not None:
            self._tell_inside(page, played, played.dream.step(command["action"]))

    def decide(self, played: Played) -> Decision:
        made = played.match.decide(played.player)
        if not made.seen:
            return made
        seen = played.match.frame.numpy().tobytes()
        played.past[made.tick] = seen, Latent.of(played.player)
        while len(played.past) > 2 * MOST_ASKED:
            played.past.popitem(last=False)
        if played.watched:
            frame, surprise = reconstructed(self.policy.dreamer, played.player)
            played.frames.append(seen + frame)
            played.surprises.append((made.tick, surprise))
        return made

    def extras(self, played: Played) -> tuple[bytes, dict[str, Any]]:
        data, surprises = b"".join(played.frames), played.surprises
        played.frames, played.surprises = [], []
        return data, {"surprises": surprises}

    # ---- dreams

    def _at(self, played: Played, tick: int) -> int | None:
        """The last decision up to that tick, or the oldest that is kept; None before the first."""
        known = [at for at in played.past if at <= tick] or list(played.past)[:1]
        return known[-1] if known else None

    def _imagine(self, page: int, played: Played, tick: int) -> None:
        """What the policy would do and meet in the next steps, and what it did meet as far as that is known."""
        at = self._at(played, tick)
        if at is None:
            return
        frame, latent = played.past[at]
        dream = Dream(self.policy.dreamer, latent, self.seed + at)
        steps = [dream.look(), *(dream.step() for _ in range(STEPS))]
        later = [known for known in played.past if known > at][:STEPS]
        self.send(
            "IMAGINED",
            page,
            played,
            b"".join([frame, *(step.frame for step in steps), *(played.past[known][0] for known in later)]),
            tick=at,
            ticks=later,
            stride=played.match.keep * played.match.repeat,
            reward=[step.reward for step in steps[1:]],
            continues=[step.continues for step in steps[1:]],
        )

    def _enter(self, page: int, played: Played, tick: int) -> None:
        at = self._at(played, tick)
        if at is not None:
            played.dream = Dream(self.policy.dreamer, played.past[at][1], self.seed + at)
            self._tell_inside(page, played, played.dream.look())

    def _tell_inside(self, page: int, played: Played, now: Imagined) -> None:
        self.send("DREAMT", page, played, now.frame, reward=now.reward, continues=now.continues)


@role
def run(channel: Channel, job: Mapping[str, Any], blocks: Mapping[str, SharedBlock]) -> None:
    """Play until stopped. `job`: training/shown.py."""
    torch.set_num_threads(1)
    drill = CompiledDrill.from_json(job["drill"])
    policy = ShownPolicy(job, blocks["weights"], drill.spec.n_actions)
    show = Show(channel, drill, policy, int(job["seed"]))
    while not channel.closed:
        show.follow(channel.poll(0.0 if show.busy else IDLE_SECONDS))
