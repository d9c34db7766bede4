"""The process that plays the page's match ahead, and dreams for it: role `...dreamer.show.process:run`.

A page asks for as many decisions as it will soon need and plays them by its own rules (docs/explain/dreamer.md).
Nothing is computed that no page has asked for.
"""

from __future__ import annotations

import base64
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from dshq_widget.algorithms.dreamer.model.agent import Player
from dshq_widget.algorithms.dreamer.show.dream import STEPS, Dream, Imagined, Latent, reconstructed
from dshq_widget.algorithms.dreamer.show.match import Decision, Match
from dshq_widget.algorithms.dreamer.show.policy import ShownPolicy
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.runtime.memory import SharedBlock
from dshq_widget.runtime.process import Channel, role

MOST_PAGES = 4
"""Pages that are played for at once; the one that asked longest ago is forgotten."""
MOST_ASKED = 64
"""Decisions that a page may be ahead."""
FLUSH_SECONDS = 0.1
"""Longest time that a decision waits for others to be sent with it."""
IDLE_SECONDS = 0.5


@dataclass
class Played:
    """What is played for one page."""

    plan: int
    """The page's number of this plan: it makes another one whenever its match took another way."""
    match: Match
    player: Player
    asked: int = 0
    version: int = -1
    watched: bool = False
    made: list[Decision] = field(default_factory=list)
    frames: list[bytes] = field(default_factory=list)
    surprises: list[tuple[int, float]] = field(default_factory=list)
    """Of the frames: tick, and nats."""
    since: float = 0.0
    """When the oldest decision that is not sent yet was made."""
    past: OrderedDict[int, tuple[bytes, Latent]] = field(default_factory=OrderedDict)
    """By tick, of the last decisions: the frame, and where the match stood in the model."""
    dream: Dream | None = None


class Show:
    """`obey` takes the page's messages, `advance` makes one decision for each page that asked."""

    def __init__(self, channel: Channel, drill: CompiledDrill, policy: ShownPolicy, seed: int) -> None:
        self.channel, self.drill, self.policy, self.seed = channel, drill, policy, seed
        self.pages: OrderedDict[int, Played] = OrderedDict()

    def obey(self, command: Mapping[str, Any]) -> None:
        """One message of the table `kernel_to_show`. One about a plan that is not known is answered by DECIDE_AGAIN."""
        kind, page, plan = command["type"], command["page"], command["plan"]
        if kind == "DECIDE" and command["start"] is not None:
            self._begin(page, plan, command["start"])
        played = self.pages.get(page)
        if played is None or played.plan != plan:
            self.channel.send({"type": "DECIDE_AGAIN", "page": page, "plan": plan})
        elif kind == "DECIDE":
            played.asked = min(played.asked + command["count"], MOST_ASKED)
            played.watched = command["watch"]
        elif kind == "DREAM":
            self._imagine(page, played, command["tick"])
        elif kind == "ENTER_DREAM":
            self._enter(page, played, command["tick"])
        elif kind == "DREAM_ACT" and played.dream is not None:
            self._tell_inside(page, played, played.dream.step(command["action"]))

    @property
    def busy(self) -> bool:
        """Whether a decision is asked for."""
        return any(played.asked or played.made for played in self.pages.values())

    def advance(self) -> None:
        """One decision for each page that asked for some."""
        now = time.monotonic()
        for page, played in self.pages.items():
            if played.asked:
                self._decide(page, played, now)
            if played.made and (not played.asked or now - played.since >= FLUSH_SECONDS):
                self._tell(page, played)

    def _begin(self, page: int, plan: int, start: Mapping[str, Any]) -> None:
        before = self.pages.pop(page, None)
        chance = torch.Generator().manual_seed(self.seed + int(start["tick"]))
        match = Match(self.drill, start, self.policy.dreamer.settings.repeat)
        self.pages[page] = Played(plan, match, Player(self.policy.dreamer, 1, chance))
        if before is not None:
            self.pages[page].dream = before.dream
        while len(self.pages) > MOST_PAGES:
            self.pages.popitem(last=False)

    def _decide(self, page: int, played: Played, now: float) -> None:
        if played.match.first or (played.match.chooses and not played.match.at_reset):
            self.policy.renew()
        if played.made and played.version != self.policy.version:
            self._tell(page, played)
        played.version = self.policy.version
        played.since = played.since if played.made else now
        made = played.match.decide(played.player)
        played.made.append(made)
        played.asked -= 1
        if not made.seen:
            return
        seen = played.match.frame.numpy().tobytes()
        played.past[made.tick] = seen, Latent.of(played.player)
        while len(played.past) > 2 * MOST_ASKED:
            played.past.popitem(last=False)
        if played.watched:
            frame, surprise = reconstructed(self.policy.dreamer, played.player)
            played.frames.append(seen + frame)
            played.surprises.append((made.tick, surprise))

    def _tell(self, page: int, played: Played) -> None:
        rows = [[made.tick, made.sum, *made.actions] for made in played.made]
        self._send(
            "DECISIONS",
            page,
            played,
            b"".join(played.frames),
            version=played.version,
            decisions=rows,
            surprises=played.surprises,
        )
        played.made, played.frames, played.surprises = [], [], []

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
        self._send(
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
        self._send("DREAMT", page, played, now.frame, reward=now.reward, continues=now.continues)

    def _send(self, kind: str, page: int, played: Played, data: bytes, **fields: Any) -> None:
        message = {"type": kind, "page": page, "plan": played.plan, **fields}
        self.channel.send({**message, "data": base64.b64encode(data).decode()})


@role
def run(channel: Channel, job: Mapping[str, Any], blocks: Mapping[str, SharedBlock]) -> None:
    """Play until told to stop. `job`: training/shown.py."""
    torch.set_num_threads(1)
    drill = CompiledDrill.from_json(job["drill"])
    policy = ShownPolicy(job, blocks["weights"], drill.spec.n_actions)
    show = Show(channel, drill, policy, int(job["seed"]))
    while not channel.closed:
        for command in channel.poll(0.0 if show.busy else IDLE_SECONDS):
            show.obey(command)
        show.advance()
