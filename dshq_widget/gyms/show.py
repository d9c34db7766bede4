"""The process that plays an environment for the page: steps it in show time with the newest policy, and renders it.

Role `dshq_widget.gyms.show:run`. A frame is rendered and sent only when the page has shown the previous one, and
nothing moves while the page is hidden. Weights come through `runtime.slots`, whose `step` here is the policy's version.
"""

from __future__ import annotations

import base64
import io
import os
import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dshq_widget.gyms.making import make
from dshq_widget.policy.action_spaces import GymError
from dshq_widget.policy.gym_policy import GymPolicy, RecurrentGymPolicy, gym_policy
from dshq_widget.policy.layout import pictures_of
from dshq_widget.policy.own_network import Found
from dshq_widget.policy.own_policy import OwnGymPolicy
from dshq_widget.policy.own_spec import OwnSpec
from dshq_widget.runtime.memory import SharedBlock
from dshq_widget.runtime.own_modules import found_in
from dshq_widget.runtime.process import OUTBOX_BYTES, Channel, role
from dshq_widget.runtime.slots import WeightSlots

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

LONGEST_GAP = 0.25
"""Longest time between two checks of the clock, in seconds, that is caught up."""
BUDGET_SECONDS = 0.05
"""Longest time of stepping between two checks for messages; time beyond it is dropped."""
IDLE_SECONDS = 0.5
QUALITY = 85
"""JPEG quality: no visible artefacts in line drawings (assumed)."""
LEAST_QUALITY, QUALITY_STEP = 35, 25
"""How far it is lowered for pictures that are too large, and by how much at a time (assumed)."""
JPEG_BYTES = (OUTBOX_BYTES - (1 << 15)) // 4 * 3
"""A picture's bytes before they become base64; the rest of its message has 32 kB."""
MOST_EVENTS = 256
"""That wait for the page, the newest; each takes a hundred bytes at most."""


@role
def run(channel: Channel, job: Mapping[str, Any], blocks: Mapping[str, SharedBlock]) -> None:
    """Play until stopped. `job` is made by kernel_show.py."""
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # pygame draws into memory and needs no screen
    show = Show(channel, job, WeightSlots.attach(blocks["weights"]))
    try:
        while not channel.closed:
            for command in newest(channel.poll(show.rest())):
                show.obey(command)
            show.advance()
    finally:
        show.env.close()


def newest(commands: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Of each kind the newest one, which says how the show is to be now, and the steps of all: a page that resets the
    match without end does not keep the show from going on.
    """
    last = {command["type"]: command for command in commands}
    if "STEP" in last:
        last["STEP"] = {"type": "STEP", "count": sum(one["count"] for one in commands if one["type"] == "STEP")}
    return list(last.values())


def packed(image: Picture) -> str:
    """A picture as JPEG in base64 that fits into a message: of lower quality if need be, and then smaller."""
    quality = QUALITY
    while True:
        file = io.BytesIO()
        image.save(file, "JPEG", quality=quality)
        if file.tell() <= JPEG_BYTES:
            return base64.b64encode(file.getvalue()).decode()
        if quality > LEAST_QUALITY:
            quality = max(quality - QUALITY_STEP, LEAST_QUALITY)
        else:
            image = image.resize((max(image.width // 2, 1), max(image.height // 2, 1)))


class Show:
    """One environment, the policy that plays it, and the clock between them."""

    def __init__(self, channel: Channel, job: Mapping[str, Any], slots: WeightSlots):
        self.channel, self.slots, self.job = channel, slots, job
        self.env = make(job["environment"]["id"], render=True, **job["made"])
        self.fps = float(job["fps"])
        self.playing, self.speed, self.swap = True, 1.0, "now"
        self.looked_at = self.ready = True
        self.asked = 0  # steps to make while paused
        self.owed = 0.0  # steps due by the clock
        self.last = time.monotonic()
        self.tick, self.score, self.count = 0, [0.0, 0], 0
        self.events: deque[dict[str, Any]] = deque(maxlen=MOST_EVENTS)
        self.fresh = True  # the page has not seen the current frame
        self.over = False
        self.obs: Any = None
        self.info: dict[str, Any] = {}
        self.version = -1
        self.policy = self._newest()
        self.reset(int(job["seed"]))

    def obey(self, command: Mapping[str, Any]) -> None:
        """One message of the table `kernel_to_show`."""
        kind = command["type"]
        if kind == "SHOW":
            self.playing, self.speed = bool(command["playing"]), float(command["speed"])
            self.swap, self.fresh = command["swap"], True
        elif kind == "RESET_SHOW":
            self.reset(int(command["seed"]))
        elif kind == "STEP":
            self.asked += int(command["count"])
        elif kind == "FRAME_SHOWN":
            self.ready = True
        elif kind == "LOOK":
            self.looked_at = bool(command["visible"])
            self.fresh |= self.looked_at

    def rest(self) -> float:
        """Seconds until the next step or frame is due."""
        if not self.looked_at:
            return IDLE_SECONDS
        if self.asked or (self.fresh and self.ready):
            return 0.0
        if not self.playing:
            return IDLE_SECONDS
        return max(0.0, (1 - self.owed) / (self.fps * self.speed) - (time.monotonic() - self.last))

    def advance(self) -> None:
        """Make the steps that are due, then send a frame if the page is ready."""
        now = time.monotonic()
        gap, self.last = min(now - self.last, LONGEST_GAP), now
        if not self.looked_at:
            return
        self.owed = self.owed + gap * self.fps * self.speed if self.playing else 0.0
        due, self.asked = int(self.owed) + self.asked, 0
        self.owed %= 1.0
        for _ in range(due):
            self.step()
            if time.monotonic() - now > BUDGET_SECONDS:
                break
        if self.fresh and self.ready:
            self.film()

    def reset(self, seed: int) -> None:
        """Restart the show: the same seed gives the same first episode if the policies are the same."""
        self.rng = np.random.default_rng([seed, 0x5707])
        self.tick = 0
        self._begin(seed)
        self._tell("reset")

    def step(self) -> None:
        """Make one step of the environment, or reset it after the end of an episode."""
        if self.over:
            self._begin(None)
        if self.swap == "now":
            self.policy = self._newest()
        action = self.policy.act(self.obs, self.rng, mask=self.policy.allowed(self.info))
        self.obs, reward, terminated, truncated, self.info = self.env.step(action)
        self.tick += 1
        self.score = [self.score[0] + float(reward), self.score[1] + 1]
        self.fresh = True
        self.over = bool(terminated or truncated)

    def film(self) -> None:
        """Send the current frame; raises GymError if the environment renders none."""
        try:
            from PIL import Image
        except ImportError as error:
            raise GymError('showing an environment needs Pillow: pip install "dshq-widget[gym]"') from error
        picture = self.env.render()
        if not isinstance(picture, np.ndarray) or picture.ndim != 3:
            gym_id = self.job["environment"]["id"]
            raise GymError(f"{gym_id} renders no frames in render_mode rgb_array, so there is nothing to show")
        image = Image.fromarray(np.ascontiguousarray(picture, np.uint8))
        state = {"tick": self.tick, "score": self.score, "version": self.version, "playing": self.playing}
        jpeg = packed(image)
        if self.channel.send({"type": "FRAME", **state, "events": list(self.events), "jpeg": jpeg}):
            self.events.clear()
            self.fresh = self.ready = False

    def _begin(self, seed: int | None) -> None:
        self.policy = self._newest()
        self.obs, self.info = self.env.reset(seed=seed)
        if isinstance(self.policy, RecurrentGymPolicy):
            self.policy.forget()
        self.score, self.over, self.fresh = [0.0, 0], False, True

    def _newest(self) -> GymPolicy:
        found = self.slots.read(self.count)
        if found is None:
            return self.policy
        self.count, version, weights = found
        if version != self.version:
            self.version = version
            self._tell("swap")
        job = self.job
        if job.get("network"):
            return self._own(weights)
        policy = gym_policy(job["layers"], job["activation"], weights, job["environment"], job["distribution"])
        before = vars(self).get("policy")  # none at the beginning
        if isinstance(policy, RecurrentGymPolicy) and isinstance(before, RecurrentGymPolicy):
            policy.state = before.state  # what was remembered continues
        return policy

    def _own(self, weights: Any) -> GymPolicy:
        """A network of a person's own, imported once, with these weights."""
        job, before = self.job, vars(self).get("policy")
        if isinstance(before, OwnGymPolicy):
            before.take(weights)
            return before
        environment, found = job["environment"], Found.from_json(job["network"], found_in)
        spec = OwnSpec.reading(tuple(job["layers"]), pictures_of(environment), found)
        return OwnGymPolicy(spec, weights, environment, job["distribution"])

    def _tell(self, kind: str) -> None:
        self.events.append({"kind": kind, "tick": self.tick, "side": -1, "version": self.version})
