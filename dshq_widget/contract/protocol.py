"""Names that two processes or two languages share: messages, metrics, modes, speeds and the policy's layout.

`tools/tables.py` writes the page's copy, `js/contract/tables.ts`, and `docs/contract.md`; a test holds them equal.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence

from dshq_kernels.network.layers import shapes

PROTOCOL_VERSION = 1
"""Raised when page and kernel of different releases could misunderstand each other."""

STATUSES = ("idle", "starting", "training", "stopping", "stopped", "error")
MODES = ("ai_vs_ai", "human_vs_ai", "sandbox")
SPEEDS = (0.25, 0.5, 1, 2, 4, 8, 16, 32)
"""Offered multiples of real time; any number between the first and the last is accepted."""
STEP_UNITS = ("tick", "decision")
PANELS = {
    "transport": "the match: play, step, speed, who plays, the seed",
    "ghost": "an earlier version plays the other side",
    "training": "train, stop, start over, pause learning, the next update by hand",
    "seat": "on a shared server: training time left, the run from before, the class league",
    "pace": "how fast it learns",
    "status": "what the training does, in a sentence",
    "headline": "the four numbers",
    "charts": "the learning curves",
    "mind": "what the policy thinks",
    "league": "how strong the champion, the newest and earlier versions are",
    "log": "goals, new policies, changed settings, newest first",
    "rewards": "what is paid for, and what the last games would have earned",
    "coach": "scenes to practise, arranged by dragging",
    "hyper": "hyper-parameters, presets and Copy as Python",
}
"""What `controls` may name: every panel of the page, in the order in which they stand there."""
SWAPS = ("now", "at_reset")
"""When a better policy takes over: at the next decision, or when the next game begins."""
REST_SECONDS = {"goal": 0.7, "draw": 0.35}
"""Show time for which the world runs out after an episode, before the next one begins; nobody decides meanwhile."""

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
}
"""`match` counts resets, `action_repeat` 0 is the drill's own, `opponent` "" its first baseline."""
SWAP_INTERVAL_MS_MIN = 250
"""The page is not sent policies faster than this, however small `swap_interval_ms` is."""

ANY_SETTINGS = "..."
"""Stands in MESSAGES for any hyper-parameters, each under its key."""
MESSAGES: dict[str, dict[str, tuple[str, ...]]] = {
    "page_to_kernel": {
        "HELLO": ("seq",),
        "ACK": ("seq",),
        "START_TRAINING": (ANY_SETTINGS,),
        "STOP_TRAINING": (),
        "RESET_TRAINER": (),
        "PAUSE_TRAINING": (),
        "RESUME_TRAINING": (),
        "NEXT_UPDATE": (ANY_SETTINGS,),
        "SET_HYPER": ("key", "value"),
        "DRILL_SCENE": ("state", "rules_hash"),
        "DROP_SCENE": ("key",),
        "PAGE_STATE": ("fps", "renderer", "tick", "score", "version", "visible"),
        "SAVE_POLICY": (),
        "LOAD_POLICY": ("name", "part", "parts"),
        "STEP": ("unit", "count"),
        "FRAME_SHOWN": ("tick",),
        "EXTEND_TRAINING": (),
        "RESUME_RUN": (),
        "SUBMIT_POLICY": (),
    },
    "kernel_to_page": {
        "HISTORY": ("start", "rows"),
        "STEP": ("unit", "count"),
        "LOG": ("level", "text"),
        "POLICY_FILE": ("name",),
        "FRAME": ("tick", "score", "version", "playing", "events"),
    },
    "page_to_worker": {
        "INIT_CANVAS": ("offscreen", "width", "height", "dpi", "theme"),
        "DRILL": ("spec", "javascript"),
        "POLICY": ("version", "layers", "activation", "data"),
        "SET_MODE": ("mode", "opponent"),
        "INPUT_BATCH": ("events",),
        "TAKE_OVER": ("on",),
        "PAST": ("back",),
        "POINTER": ("kind", "pointer", "touch", "x", "y", "t"),
        "SHOW_CONFIG": ("action_repeat", "swap", "swap_interval_ms", "blend_ms"),
        "PLAY": (),
        "PAUSE": (),
        "STEP": ("unit", "count"),
        "SKIP": (),
        "RESET_SHOW": ("seed",),
        "SET_SIM_SPEED": ("multiplier",),
        "RESIZE": ("width", "height", "dpi"),
        "THEME": ("theme",),
        "VISIBLE": ("visible",),
        "RESTORE": ("snapshot",),
        "INSPECT": ("player", "map", "watch", "weights"),
        "PICK": ("x", "y"),
        "IMAGINE": ("repeat",),
        "GHOST": ("outcome",),
        "RECORD": (),
        "FILM": ("format", "spec", "javascript", "recording", "theme"),
        "CAPTURE": (),
        "DISPOSE": (),
    },
    "worker_to_page": {
        "READY": ("renderer", "thread", "reason"),
        "STATE": ("tick", "score", "version", "fps", "playing", "events", "probabilities", "value"),
        "SNAPSHOT": ("tick", "score", "version", "state"),
        "MIND": ("player", "version", "range", "standing", "thought"),
        "OUTCOMES": ("player", "outcomes"),
        "CURSOR": ("view", "cursor"),
        "PAST": ("versions", "ghost"),
        "RECORDING": ("recording",),
        "FILMED": ("share", "content"),
        "SCENE": ("state", "over"),
        "SCORES": ("episodes",),
        "ERROR": ("text",),
    },
    "kernel_to_learner": {
        "STOP": (),
        "SET_HYPER": ("key", "value"),
        "PAUSE_TRAINING": (),
        "RESUME_TRAINING": (),
        "NEXT_UPDATE": (),
        "SAVE": ("path",),
        "SCENES": ("scenes",),
    },
    "learner_to_kernel": {
        "PHASE": ("phase", "text", "device", "workers", "threads", "tuning"),
        "ANOTHER_ALLOCATION": (),
        "METRICS": ("values",),
        "LEAGUE": ("rows",),
        "SCENES": ("rows",),
        "CHECKPOINT": ("path",),
        "WARNING": ("text",),
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
    "show_to_kernel": {
        "FRAME": ("tick", "score", "version", "playing", "events", "jpeg"),
        "FAILED": ("error", "traceback"),
    },
}
"""Direction -> message type -> fields. Between page and worker each also carries `id`, the widget it speaks of."""


@dataclasses.dataclass(frozen=True)
class Metric:
    """One measured number: its category, its unit, one sentence, and whether it should rise as training goes well."""

    category: str
    unit: str
    text: str
    should_rise: bool | None = None


METRICS: dict[str, Metric] = {
    "loss_policy": Metric(
        "TRAINER", "", "What the policy's update minimises; it hovers around zero and says little by itself."
    ),
    "loss_value": Metric("TRAINER", "reward^2", "Squared error of the value estimate against what followed.", False),
    "entropy": Metric(
        "TRAINER", "nats", "How undecided the policy is; it falls as habits form, but should not crash to zero.", False
    ),
    "approx_kl": Metric("TRAINER", "nats", "How far one update moved the policy; steady and small is healthy."),
    "clip_fraction": Metric("TRAINER", "share", "Share of agent steps whose change was cut off by the clip range."),
    "explained_variance": Metric(
        "TRAINER", "share", "How much of what follows the value estimate foresees; 1 is all of it.", True
    ),
    "grad_norm": Metric("TRAINER", "", "Length of the gradient before it is limited."),
    "validation_absolute_error": Metric(
        "TRAINER", "", "Largest difference of a weight's slope from the torch reference's, where that is checked."
    ),
    "validation_relative_error": Metric(
        "TRAINER", "share", "The same relative to the slope, or to the scale of all slopes where that is larger."
    ),
    "learning_rate": Metric("TRAINER", "", "Adam's step size now."),
    "clip_epsilon": Metric("TRAINER", "", "The clip range now."),
    "entropy_coef": Metric("TRAINER", "", "Weight of the entropy bonus now."),
    "updates": Metric("TRAINER", "updates", "Rollouts learned from since the start.", True),
    "updates_per_second": Metric("TRAINER", "updates/s", "Updates per second of training."),
    "version": Metric("TRAINER", "", "Newest published policy version; 0 is untrained.", True),
    "agent_steps": Metric("ACTOR", "agent steps", "Decisions of learning sides since the start.", True),
    "agent_steps_per_second": Metric("ACTOR", "agent steps/s", "Decisions of learning sides per second of training."),
    "return_mean": Metric("ACTOR", "reward", "Mean reward of finished matches, of one learning side.", True),
    "return_min": Metric("ACTOR", "reward", "Smallest reward among the matches finished lately.", True),
    "return_max": Metric("ACTOR", "reward", "Largest reward among the matches finished lately.", True),
    "episode_length_mean": Metric("ACTOR", "decisions", "Mean length of finished matches."),
    "policy_lag": Metric("ACTOR", "versions", "How many versions behind the learner the playing policy was."),
    "dropped_chunks": Metric("ACTOR", "chunks", "Rollout pieces thrown away because the learner was busy."),
    "win_rate_ema": Metric("EVALUATOR", "share", "Won of decided matches against the drill's script, smoothed.", True),
    "win_share": Metric(
        "EVALUATOR", "share", "Won of all matches against the drill's script, smoothed; draws count against it.", True
    ),
    "win_rate_random": Metric("EVALUATOR", "share", "Won of decided matches against random play, smoothed.", True),
    "win_share_random": Metric("EVALUATOR", "share", "Won of all matches against random play, smoothed.", True),
    "evaluated_return": Metric(
        "EVALUATOR", "reward", "Mean return of the last evaluation's 100 episodes, in a drill of one side.", True
    ),
    "solved": Metric("EVALUATOR", "", "1 where the last evaluation reached the drill's target, 0 where not.", True),
    "elo": Metric("EVALUATOR", "Elo", "Strength measured against pinned opponents.", True),
    "elo_low": Metric("EVALUATOR", "Elo", "Lower end of the 95 % band of the strength.", True),
    "elo_high": Metric("EVALUATOR", "Elo", "Upper end of the 95 % band of the strength.", True),
    "episodes": Metric("EVALUATOR", "matches", "Evaluation matches played.", True),
    "duration_ms": Metric("EVALUATOR", "ms", "Time that the last evaluation took."),
    "seconds": Metric("MISC", "s", "Seconds of training since it began, start-up and evaluation left out.", True),
    "rollout_ms": Metric("MISC", "ms", "Time to play one rollout."),
    "update_ms": Metric("MISC", "ms", "Time to learn from one rollout."),
    "gpu_time_ms": Metric("MISC", "ms", "Time that the GPU worked on one update."),
    "memory_mb": Metric("MISC", "MB", "Memory of the learner and its workers together."),
    "show_fps": Metric("MISC", "frames/s", "Frames per second of the match on the page."),
}
"""Every metric by its flat name. `reward_<term>` joins them for each reward term of the drill."""
REWARD_TERM = Metric("ACTOR", "reward", "Mean reward per match from this term.")
METRIC_CATEGORIES = ("TRAINER", "ACTOR", "EVALUATOR", "MISC")


def metric(name: str) -> Metric | None:
    """The table's entry for a flat name, `reward_<term>` included; None for an unknown one."""
    return METRICS.get(name) or (REWARD_TERM if name.startswith("reward_") else None)


def shape_hash(layers: Sequence[int], activation: str) -> str:
    """First 16 hex digits of the sha256 of `mlp|28|64|64|31|tanh|v1`: the layout that a policy blob has."""
    text = "|".join(["mlp", *map(str, layers), activation, "v1"])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def blob_floats(layers: Sequence[int]) -> int:
    """Floats in a policy blob: per layer W `[n_in, n_out]` and b `[n_out]` (dshq_kernels/network/layers.py)."""
    return sum(n_in * n_out + n_out for n_in, n_out in shapes(layers))
