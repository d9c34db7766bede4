"""Attributes `data-NAME` of the page's root, `.dshq-widget`, which scripts and tests read. Empty means unknown."""

from __future__ import annotations

from dshq_widget.contract import protocol
from dshq_widget.contract.faces import FACES
from dshq_widget.contract.json_fields import Entry

_CORE = {
    "status": Entry(
        ", ".join((*protocol.STATUSES, "disconnected")), "What training does; disconnected: no kernel answers."
    ),
    "trainer": Entry("kernel or page", "Who trains."),
    "mode": Entry(", ".join(protocol.MODES), "Who plays."),
    "drill": Entry("text", "The drill's name."),
    "version": Entry("0 or more", "Version of the policy that plays; 0 is untrained."),
    "tick": Entry("ticks", "Ticks since the widget began; falls only at *Reset match*."),
    "score": Entry("GOALS-GOALS", "Goals of each side since then."),
    "playing": Entry("true or false", "Whether the match runs."),
    "fps": Entry("frames/s", "Frames drawn in the last second."),
    "frame-ms": Entry("ms", "95 of the last 100 frames came within this time after the previous one."),
    "win-rate": Entry("0 to 1", "`win_rate_ema`, against the drill's script."),
    "win-rate-random": Entry("0 to 1", "`win_rate_random`."),
    "return": Entry("reward", "`evaluated_return`, in drills of one side."),
    "agent-steps": Entry("agent steps", "`agent_steps`."),
    "renderer": Entry("webgpu or canvas2d", "What draws this view of the match."),
    "renderer-thread": Entry("worker or page", "Where."),
    "renderer-reason": Entry("text", "Why WebGPU is not used; empty if it is."),
    "search-ms": Entry("ms", "What the last decision by search took, with *16 futures*."),
    "theme": Entry("light or dark", "The theme of the surrounding page."),
}
PAGE_ATTRIBUTES = {**_CORE, **{name: entry for face in FACES for name, entry in face.attributes.items()}}
