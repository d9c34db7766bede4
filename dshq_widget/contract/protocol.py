"""Names shared by processes and by both languages: messages, modes, speeds and the policy's layout.

`tools/tables.py` generates the page's copy, `js/contract/tables.ts`, and `docs/develop/protocol.md`; a test compares
them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from dshq_kernels.network.layers import shapes
from dshq_widget.contract import messages
from dshq_widget.contract.faces import FACES
from dshq_widget.contract.messages import fields

PROTOCOL_VERSION = 1
"""Incremented when page and kernel of different releases would misunderstand each other."""

STATUSES = ("idle", "starting", "training", "stopping", "stopped", "error")
MODES = ("ai_vs_ai", "human_vs_ai", "sandbox")
SPEEDS = (0.25, 0.5, 1, 2, 4, 8, 16, 32)
"""Speeds offered, as multiples of real time; any number between the first and the last is accepted."""
STEP_UNITS = ("tick", "decision")

_PANELS = {
    "training": "train and stop; in the Lab: pause learning, make one update, forget everything",
    "pace": "in the Lab: the speed of learning",
    "status": "the training status in a sentence, and its targets",
    "transport": "play against it, play and pause, speed, who plays; in the Lab: steps, seed, a new match",
    "ghost": "an earlier version plays the other side",
    "seat": "on a shared server: training time left, the previous run, the class league",
    "headline": "the four main numbers",
    "charts": "the learning curves",
    "log": "goals, new policies, changed settings, newest first",
    "mind": "what the policy thinks, and the value map",
    "futures": "16 futures: search decides for the policy, and the moves that it weighs",
    "rewards": "reward weights, and what the last games would have earned with them",
    "hyper": "hyper-parameters, presets and Copy as Python",
    "algorithm": "what the algorithm declares: numbers and curves of its own, in a tab of its title",
}
_TABS = {
    "learn": ("seat", "headline", "charts", "log"),
    "mind": ("mind", "futures"),
    "rewards": ("rewards",),
    "settings": ("hyper",),
    "algorithm": ("algorithm",),
}


def _placed(whole: Mapping[str, Any], own: str, more: Any, before: str) -> dict[str, Any]:
    """`whole` with one more entry, in front of `before` or at the end."""
    names = list(whole)
    names.insert(names.index(before) if before else len(names), own)
    return {name: more if name == own else whole[name] for name in names}


def _with_faces() -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
    """The panels and tabs that every game has, and those of the features."""
    panels, tabs = dict(_PANELS), dict(_TABS)
    for face in FACES:
        if face.panel:
            tab = next((name for name, held in tabs.items() if face.before in held), "")
            panels = _placed(panels, face.panel, face.text, face.before)
            tabs = _placed(tabs, face.panel, (face.panel,), tab)
    return panels, tabs


PANELS, TABS = _with_faces()
"""PANELS: values of `controls`, every panel of the page, in the order shown, and what it shows.

TABS: the tabs beside the match, and the panels in each; the other panels stand around the match. `controls` takes a
tab's name for all its panels, except where a panel has the same name.
"""
SWAPS = ("now", "at_reset")
"""When a new policy starts to play: at the next decision, or when the next game begins."""
REST_SECONDS = {"goal": 0.7, "draw": 0.35}
"""Show time (s) after an episode in which the world keeps moving without decisions, before the next one begins."""
REPLAY_FORMAT = "1"
"""Of saved replays and the league's matches. One that says nothing is of release 0.1.0, and of the first format."""

RENDERERS = ("auto", "webgpu", "canvas2d")
"""What draws the match. "auto": WebGPU where there is one; while the same machine trains, and a processor draws, the
page finds the cheapest picture that still looks fluid. The others are taken as they are, where the browser has them."""
SHOW_DEFAULTS = {
    "mode": "ai_vs_ai",
    "speed": 1.0,
    "playing": True,
    "seed": 0,
    "match": 0,
    "swap": "now",
    "swap_interval_ms": 1000,
    "blend_ms": 0,
    "action_repeat": 0,
    "opponent": "",
    "renderer": "auto",
}
"""`match` counts resets; `action_repeat` 0 means the drill's own; `opponent` "" means its first baseline, and against a
person the newest version."""
MOST_REPEAT = 120
"""Ticks for which a page may let a decision hold (`action_repeat`)."""
SWAP_INTERVAL_MS_MIN = 250
"""Lower limit of `swap_interval_ms`: policies are not sent to the page more often."""

QUESTIONS = tuple(kind for face in FACES for kind in face.questions)
ANSWERS = tuple(kind for face in FACES for kind in face.answers)
FROM_PAGE = (*messages.PAGE_TO_KERNEL, *(kind for face in FACES for kind in face.to_kernel), *QUESTIONS)
"""Every message from page to kernel."""
TO_PAGE = (*messages.KERNEL_TO_PAGE, *(kind for face in FACES for kind in face.to_page), *ANSWERS)
"""Every message from kernel to page."""

MESSAGES: dict[str, dict[str, tuple[str, ...]]] = {
    "page_to_kernel": fields(FROM_PAGE),
    "kernel_to_page": fields(TO_PAGE),
    "kernel_to_learner": {
        "STOP": (),
        "SET_HYPER": ("key", "value"),
        "PAUSE_TRAINING": (),
        "RESUME_TRAINING": (),
        "NEXT_UPDATE": (),
        "UNTIL_SOLVED": (),
        "SAVE": ("path",),
        "SCENES": ("scenes",),
    },
    "learner_to_kernel": {
        "PHASE": ("phase", "text", "device", "workers", "threads", "tuning"),
        "ANOTHER_ALLOCATION": (),
        "METRICS": ("values", "spent"),
        "LEAGUE": ("rows",),
        "SCENES": ("rows",),
        "CHECKPOINT": ("path",),
        "WARNING": ("text",),
        "PROCESSORS": ("processors", "takers"),
        "FAILED": ("error", "traceback"),
        "STOPPED": (),
    },
    "kernel_to_show": {
        "STOP": (),
        "SHOW": ("playing", "speed", "swap"),
        "RESET_SHOW": ("seed",),
        "STEP": ("count",),
        "LOOK": ("visible",),
        "FRAME_SHOWN": (),
    },
    "kernel_to_policy_show": fields((messages.Decide, *QUESTIONS)),
    "policy_show_to_kernel": {
        **{kind: (*held, "data") for kind, held in fields((messages.Decisions, *ANSWERS)).items()},
        **fields((messages.DecideAgain,)),
        "FAILED": ("error", "traceback"),
    },
    "show_to_kernel": {
        "FRAME": ("tick", "score", "version", "playing", "events", "jpeg"),
        "FAILED": ("error", "traceback"),
    },
}
"""Direction -> message type -> fields. Those between page and worker are the page's own (js/contract/protocol.ts)."""


def shape_hash(layers: Sequence[int], activation: str) -> str:
    """First 16 hex digits of the sha256 of `mlp|28|64|64|31|tanh|v1`: the layout that a policy blob has."""
    text = "|".join(["mlp", *map(str, layers), activation, "v1"])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def blob_floats(layers: Sequence[int]) -> int:
    """Floats in a policy blob: per layer W `[n_in, n_out]` and b `[n_out]` (layers.py)."""
    return sum(n_in * n_out + n_out for n_in, n_out in shapes(layers))
