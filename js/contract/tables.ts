// Written by `python -m tools.tables` from contract/protocol.py and drill/palette.py: change it there.

export const PROTOCOL_VERSION = 1 as const;

export const STATUSES = [
  "idle",
  "starting",
  "training",
  "stopping",
  "stopped",
  "error"
] as const;

export const MODES = [
  "ai_vs_ai",
  "human_vs_ai",
  "sandbox"
] as const;

export const SPEEDS = [
  0.25,
  0.5,
  1,
  2,
  4,
  8,
  16,
  32
] as const;

export const STEP_UNITS = [
  "tick",
  "decision"
] as const;

export const PANELS = [
  "transport",
  "ghost",
  "training",
  "seat",
  "pace",
  "status",
  "headline",
  "charts",
  "mind",
  "league",
  "log",
  "rewards",
  "coach",
  "hyper"
] as const;

export const SWAPS = [
  "now",
  "at_reset"
] as const;

export const REST_SECONDS = {
  "goal": 0.7,
  "draw": 0.35
} as const;

export const SHOW_DEFAULTS = {
  "mode": "ai_vs_ai",
  "speed": 1.0,
  "playing": true,
  "seed": 0,
  "match": 0,
  "swap": "now",
  "swap_interval_ms": 1000,
  "blend_ms": 0,
  "action_repeat": 0,
  "opponent": ""
} as const;

export const SWAP_INTERVAL_MS_MIN = 250 as const;

export const MESSAGES = {
  "page_to_kernel": {
    "HELLO": [
      "seq"
    ],
    "ACK": [
      "seq"
    ],
    "START_TRAINING": [
      "..."
    ],
    "STOP_TRAINING": [],
    "RESET_TRAINER": [],
    "PAUSE_TRAINING": [],
    "RESUME_TRAINING": [],
    "NEXT_UPDATE": [
      "..."
    ],
    "SET_HYPER": [
      "key",
      "value"
    ],
    "DRILL_SCENE": [
      "state",
      "rules_hash"
    ],
    "DROP_SCENE": [
      "key"
    ],
    "PAGE_STATE": [
      "fps",
      "renderer",
      "tick",
      "score",
      "version",
      "visible"
    ],
    "SAVE_POLICY": [],
    "LOAD_POLICY": [
      "name",
      "part",
      "parts"
    ],
    "STEP": [
      "unit",
      "count"
    ],
    "FRAME_SHOWN": [
      "tick"
    ],
    "EXTEND_TRAINING": [],
    "RESUME_RUN": [],
    "SUBMIT_POLICY": []
  },
  "kernel_to_page": {
    "HISTORY": [
      "start",
      "rows"
    ],
    "STEP": [
      "unit",
      "count"
    ],
    "LOG": [
      "level",
      "text"
    ],
    "POLICY_FILE": [
      "name"
    ],
    "FRAME": [
      "tick",
      "score",
      "version",
      "playing",
      "events"
    ]
  },
  "page_to_worker": {
    "INIT_CANVAS": [
      "offscreen",
      "width",
      "height",
      "dpi",
      "theme"
    ],
    "DRILL": [
      "spec",
      "javascript"
    ],
    "POLICY": [
      "version",
      "layers",
      "activation",
      "data"
    ],
    "SET_MODE": [
      "mode",
      "opponent"
    ],
    "INPUT_BATCH": [
      "events"
    ],
    "TAKE_OVER": [
      "on"
    ],
    "PAST": [
      "back"
    ],
    "POINTER": [
      "kind",
      "pointer",
      "touch",
      "x",
      "y",
      "t"
    ],
    "SHOW_CONFIG": [
      "action_repeat",
      "swap",
      "swap_interval_ms",
      "blend_ms"
    ],
    "PLAY": [],
    "PAUSE": [],
    "STEP": [
      "unit",
      "count"
    ],
    "SKIP": [],
    "RESET_SHOW": [
      "seed"
    ],
    "SET_SIM_SPEED": [
      "multiplier"
    ],
    "RESIZE": [
      "width",
      "height",
      "dpi"
    ],
    "THEME": [
      "theme"
    ],
    "VISIBLE": [
      "visible"
    ],
    "RESTORE": [
      "snapshot"
    ],
    "INSPECT": [
      "player",
      "map",
      "watch",
      "weights"
    ],
    "PICK": [
      "x",
      "y"
    ],
    "IMAGINE": [
      "repeat"
    ],
    "GHOST": [
      "outcome"
    ],
    "RECORD": [],
    "FILM": [
      "format",
      "spec",
      "javascript",
      "recording",
      "theme"
    ],
    "CAPTURE": [],
    "DISPOSE": []
  },
  "worker_to_page": {
    "READY": [
      "renderer",
      "thread",
      "reason"
    ],
    "STATE": [
      "tick",
      "score",
      "version",
      "fps",
      "playing",
      "events",
      "probabilities",
      "value"
    ],
    "SNAPSHOT": [
      "tick",
      "score",
      "version",
      "state"
    ],
    "MIND": [
      "player",
      "version",
      "range",
      "standing",
      "thought"
    ],
    "OUTCOMES": [
      "player",
      "outcomes"
    ],
    "CURSOR": [
      "view",
      "cursor"
    ],
    "PAST": [
      "versions",
      "ghost"
    ],
    "RECORDING": [
      "recording"
    ],
    "FILMED": [
      "share",
      "content"
    ],
    "SCENE": [
      "state",
      "over"
    ],
    "SCORES": [
      "episodes"
    ],
    "ERROR": [
      "text"
    ]
  }
} as const;

export const METRIC_CATEGORIES = [
  "TRAINER",
  "ACTOR",
  "EVALUATOR",
  "MISC"
] as const;

export const METRICS = {
  "loss_policy": {
    "category": "TRAINER",
    "unit": "",
    "text": "Loss that the policy update minimises; it stays near zero and says little by itself.",
    "should_rise": null
  },
  "loss_value": {
    "category": "TRAINER",
    "unit": "reward^2",
    "text": "Mean squared error of the value estimate against the returns.",
    "should_rise": false
  },
  "entropy": {
    "category": "TRAINER",
    "unit": "nats",
    "text": "Randomness of the policy; it should fall slowly, but not collapse to zero.",
    "should_rise": false
  },
  "approx_kl": {
    "category": "TRAINER",
    "unit": "nats",
    "text": "How far one update moved the policy (KL divergence); it should stay small and steady.",
    "should_rise": null
  },
  "clip_fraction": {
    "category": "TRAINER",
    "unit": "share",
    "text": "Share of agent steps whose probability ratio was clipped.",
    "should_rise": null
  },
  "explained_variance": {
    "category": "TRAINER",
    "unit": "share",
    "text": "Share of the returns' variance that the value estimate predicts; 1 is perfect.",
    "should_rise": true
  },
  "training_reward": {
    "category": "TRAINER",
    "unit": "reward",
    "text": "Mean training reward of a batch: of gate signals and actual rewards.",
    "should_rise": true
  },
  "grad_norm": {
    "category": "TRAINER",
    "unit": "",
    "text": "Gradient norm before clipping.",
    "should_rise": null
  },
  "validation_absolute_error": {
    "category": "TRAINER",
    "unit": "",
    "text": "Largest absolute difference of a gradient entry from the torch reference, when checked.",
    "should_rise": null
  },
  "validation_relative_error": {
    "category": "TRAINER",
    "unit": "share",
    "text": "The same difference relative to the entry, or to the scale of the whole gradient if that is larger.",
    "should_rise": null
  },
  "learning_rate": {
    "category": "TRAINER",
    "unit": "",
    "text": "Current step size of Adam.",
    "should_rise": null
  },
  "clip_epsilon": {
    "category": "TRAINER",
    "unit": "",
    "text": "Current clip range.",
    "should_rise": null
  },
  "entropy_coef": {
    "category": "TRAINER",
    "unit": "",
    "text": "Current weight of the entropy bonus.",
    "should_rise": null
  },
  "updates": {
    "category": "TRAINER",
    "unit": "updates",
    "text": "Number of updates since the start.",
    "should_rise": true
  },
  "updates_per_second": {
    "category": "TRAINER",
    "unit": "updates/s",
    "text": "Updates per second of training.",
    "should_rise": null
  },
  "version": {
    "category": "TRAINER",
    "unit": "",
    "text": "Newest policy version; 0 is untrained.",
    "should_rise": true
  },
  "agent_steps": {
    "category": "ACTOR",
    "unit": "agent steps",
    "text": "Decisions of learning sides since the start.",
    "should_rise": true
  },
  "agent_steps_per_second": {
    "category": "ACTOR",
    "unit": "agent steps/s",
    "text": "Decisions of learning sides per second of training.",
    "should_rise": null
  },
  "return_mean": {
    "category": "ACTOR",
    "unit": "reward",
    "text": "Mean return of a learning side in recently finished matches.",
    "should_rise": true
  },
  "return_min": {
    "category": "ACTOR",
    "unit": "reward",
    "text": "Smallest return in recently finished matches.",
    "should_rise": true
  },
  "return_max": {
    "category": "ACTOR",
    "unit": "reward",
    "text": "Largest return in recently finished matches.",
    "should_rise": true
  },
  "episode_length_mean": {
    "category": "ACTOR",
    "unit": "decisions",
    "text": "Mean length of recently finished matches.",
    "should_rise": null
  },
  "send_share": {
    "category": "ACTOR",
    "unit": "share",
    "text": "Share of the last 100 proposals that the gate let pass.",
    "should_rise": true
  },
  "send_share_first": {
    "category": "ACTOR",
    "unit": "share",
    "text": "The same share over the first tenth of the run.",
    "should_rise": null
  },
  "send_share_last": {
    "category": "ACTOR",
    "unit": "share",
    "text": "The same share over the last tenth of the run.",
    "should_rise": true
  },
  "gate_signal_mean": {
    "category": "ACTOR",
    "unit": "reward",
    "text": "Mean gate signal of the last 100 proposals: expected reward minus threshold.",
    "should_rise": true
  },
  "gate_signal_net": {
    "category": "ACTOR",
    "unit": "reward",
    "text": "Mean gate signal of the last 100 proposals without their exploration bonus.",
    "should_rise": true
  },
  "gate_signal_first": {
    "category": "ACTOR",
    "unit": "reward",
    "text": "The same mean, without the bonus, over the first tenth of the run.",
    "should_rise": null
  },
  "gate_signal_last": {
    "category": "ACTOR",
    "unit": "reward",
    "text": "The same mean, without the bonus, over the last tenth of the run.",
    "should_rise": true
  },
  "gate_signal_untrained": {
    "category": "ACTOR",
    "unit": "reward",
    "text": "The same mean, without the bonus, of an untrained policy's proposals.",
    "should_rise": null
  },
  "actual_reward_mean": {
    "category": "ACTOR",
    "unit": "reward",
    "text": "Mean actual reward of the proposals sent among the last 100.",
    "should_rise": true
  },
  "exploration": {
    "category": "ACTOR",
    "unit": "reward",
    "text": "Current exploration bonus.",
    "should_rise": null
  },
  "buffer_size": {
    "category": "ACTOR",
    "unit": "decisions",
    "text": "Decisions in the replay buffer.",
    "should_rise": null
  },
  "pending_count": {
    "category": "ACTOR",
    "unit": "decisions",
    "text": "Sent decisions whose reward is not known yet.",
    "should_rise": null
  },
  "policy_lag": {
    "category": "ACTOR",
    "unit": "versions",
    "text": "How many versions the playing policy was behind the learner.",
    "should_rise": null
  },
  "dropped_chunks": {
    "category": "ACTOR",
    "unit": "chunks",
    "text": "Rollout chunks discarded because the learner was busy.",
    "should_rise": null
  },
  "win_rate_ema": {
    "category": "EVALUATOR",
    "unit": "share",
    "text": "Wins among decided matches against the drill's script, smoothed.",
    "should_rise": true
  },
  "win_share": {
    "category": "EVALUATOR",
    "unit": "share",
    "text": "Wins among all matches, draws included, against the drill's script, smoothed.",
    "should_rise": true
  },
  "win_rate_random": {
    "category": "EVALUATOR",
    "unit": "share",
    "text": "Wins among decided matches against random play, smoothed.",
    "should_rise": true
  },
  "win_share_random": {
    "category": "EVALUATOR",
    "unit": "share",
    "text": "Wins among all matches, draws included, against random play, smoothed.",
    "should_rise": true
  },
  "evaluated_return": {
    "category": "EVALUATOR",
    "unit": "reward",
    "text": "Mean return over the 100 episodes of the last evaluation, in a drill of one side.",
    "should_rise": true
  },
  "solved": {
    "category": "EVALUATOR",
    "unit": "",
    "text": "1 if the last evaluation reached the drill's target, else 0.",
    "should_rise": true
  },
  "elo": {
    "category": "EVALUATOR",
    "unit": "Elo",
    "text": "Elo rating, measured against pinned opponents.",
    "should_rise": true
  },
  "elo_low": {
    "category": "EVALUATOR",
    "unit": "Elo",
    "text": "Lower end of the 95 % interval of the rating.",
    "should_rise": true
  },
  "elo_high": {
    "category": "EVALUATOR",
    "unit": "Elo",
    "text": "Upper end of the 95 % interval of the rating.",
    "should_rise": true
  },
  "episodes": {
    "category": "EVALUATOR",
    "unit": "matches",
    "text": "Number of evaluation matches played.",
    "should_rise": true
  },
  "duration_ms": {
    "category": "EVALUATOR",
    "unit": "ms",
    "text": "Duration of the last evaluation.",
    "should_rise": null
  },
  "seconds": {
    "category": "MISC",
    "unit": "s",
    "text": "Training time since the start, without start-up and evaluation.",
    "should_rise": true
  },
  "rollout_ms": {
    "category": "MISC",
    "unit": "ms",
    "text": "Time to collect one rollout.",
    "should_rise": null
  },
  "update_ms": {
    "category": "MISC",
    "unit": "ms",
    "text": "Time to learn from one rollout.",
    "should_rise": null
  },
  "gpu_time_ms": {
    "category": "MISC",
    "unit": "ms",
    "text": "GPU time of one update.",
    "should_rise": null
  },
  "memory_mb": {
    "category": "MISC",
    "unit": "MB",
    "text": "Memory used by the learner and its workers.",
    "should_rise": null
  },
  "show_fps": {
    "category": "MISC",
    "unit": "frames/s",
    "text": "Frames per second of the match on the page.",
    "should_rise": null
  }
} as const;

export const REWARD_TERM = {
  "category": "ACTOR",
  "unit": "reward",
  "text": "Mean reward per match from this term.",
  "should_rise": null
} as const;

export const PAINTS = {
  "turf": {
    "light": "#7cc48bff",
    "dark": "#1d5c4aff",
    "ground": 1
  },
  "line": {
    "light": "#ffffffd8",
    "dark": "#e6fff4c8"
  },
  "goal0": {
    "light": "#2b7de0a8",
    "dark": "#3d8df2b0"
  },
  "goal1": {
    "light": "#f07818a8",
    "dark": "#f5913ab0"
  },
  "ball": {
    "light": "#ffffffff",
    "dark": "#fff8e8ff",
    "shadow": 1,
    "gloss": 0.75,
    "glow": 0.25,
    "actor": true
  },
  "player0": {
    "light": "#1a6fe0ff",
    "dark": "#3f92ffff",
    "shadow": 1,
    "gloss": 1,
    "actor": true
  },
  "player1": {
    "light": "#f5791fff",
    "dark": "#ff9838ff",
    "shadow": 1,
    "gloss": 1,
    "actor": true
  },
  "heading": {
    "light": "#fffffff2",
    "dark": "#ffffffeb"
  },
  "cooldown": {
    "light": "#fff6d0e0",
    "dark": "#ffe49ad0"
  },
  "accent": {
    "light": "#ffc53dff",
    "dark": "#ffd166ff",
    "glow": 0.5
  },
  "shadow": {
    "light": "#0b3a24c0",
    "dark": "#000000ff",
    "soft": 1.1,
    "actor": true
  },
  "wall": {
    "light": "#f4faf6ff",
    "dark": "#4a9483ff",
    "shadow": 0.5
  },
  "post": {
    "light": "#ffffffff",
    "dark": "#f4f8f6ff",
    "shadow": 0.7,
    "gloss": 0.6
  },
  "mark": {
    "light": "#ffffff8c",
    "dark": "#d9f2e65c"
  },
  "mat": {
    "light": "#c9d6e2ff",
    "dark": "#25313fff",
    "ground": 0.5
  },
  "clay": {
    "light": "#dcbd82ff",
    "dark": "#7a6444ff",
    "gloss": 0.2
  },
  "floor": {
    "light": "#c6ccdcff",
    "dark": "#262b3dff",
    "ground": 0.5
  },
  "pillar": {
    "light": "#8a90a8ff",
    "dark": "#5a6180ff",
    "shadow": 0.8,
    "gloss": 0.5
  },
  "ink": {
    "light": "#1d2430ff",
    "dark": "#10141cff"
  },
  "target": {
    "light": "#d6336cff",
    "dark": "#ff6b9aff",
    "shadow": 0.6,
    "gloss": 0.6,
    "glow": 0.3,
    "actor": true
  }
} as const;

export const GROUNDS = {
  "light": {
    "apron": "#cfe6d3ff",
    "vignette": 0.1,
    "shade": 0.26
  },
  "dark": {
    "apron": "#132c28ff",
    "vignette": 0.34,
    "shade": 0.42
  }
} as const;
