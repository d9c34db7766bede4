// Written by `make tables` from dshq_widget/contract and drill/palette.py: change it there.

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
  "training",
  "pace",
  "status",
  "transport",
  "ghost",
  "seat",
  "headline",
  "charts",
  "log",
  "mind",
  "futures",
  "rewards",
  "coach",
  "league",
  "hyper",
  "algorithm",
  "gate",
  "dream"
] as const;

export const PAGE_ATTRIBUTES = [
  "status",
  "trainer",
  "mode",
  "drill",
  "version",
  "tick",
  "score",
  "playing",
  "fps",
  "frame-ms",
  "win-rate",
  "win-rate-random",
  "return",
  "agent-steps",
  "renderer",
  "renderer-thread",
  "renderer-reason",
  "search-ms",
  "theme",
  "trainer-ready"
] as const;

export const TABS = {
  "learn": [
    "seat",
    "headline",
    "charts",
    "log"
  ],
  "mind": [
    "mind",
    "futures"
  ],
  "rewards": [
    "rewards"
  ],
  "coach": [
    "coach"
  ],
  "league": [
    "league"
  ],
  "settings": [
    "hyper"
  ],
  "algorithm": [
    "algorithm"
  ],
  "gate": [
    "gate"
  ],
  "dream": [
    "dream"
  ]
} as const;

export const SWAPS = [
  "now",
  "at_reset"
] as const;

export const RENDERERS = [
  "auto",
  "webgpu",
  "canvas2d"
] as const;

export const REST_SECONDS = {
  "goal": 0.7,
  "draw": 0.35
} as const;

export const MOST_REPEAT = 120 as const;

export const REPLAY_FORMAT = "1" as const;

export const DEFAULT_ALGORITHM = "ppo" as const;

export const CONTROLS = {
  "match": "Match",
  "play": "Play",
  "pause": "Pause",
  "say-match": "Say the score",
  "speed": "Speed",
  "mode": "Mode",
  "opponent": "Opponent",
  "preview": "See what it can become",
  "preview-leave": "Back to your match",
  "challenge": "Play against it",
  "challenge-again": "Play again",
  "challenge-share": "Share",
  "challenge-leave": "Back to watching",
  "lab": "Lab",
  "step": "Step",
  "step-decision": "Step decision",
  "next-goal": "Next goal",
  "match-seed": "Match seed",
  "reset-match": "Reset match",
  "random-seed": "Random seed",
  "match-repeat": "Action repeat",
  "swap": "Swap",
  "swap-interval": "Swap interval (ms)",
  "pause-learning": "Pause learning",
  "next-update": "Next update",
  "forget": "Forget everything",
  "undo": "Undo",
  "learning-pace": "Learning pace",
  "train": "Train",
  "stop": "Stop",
  "value-map": "Value map",
  "sight": "What it sees",
  "why": "Why that move?",
  "next-move": "Next move",
  "futures": "16 futures",
  "futures-number": "Number of futures",
  "futures-depth": "Decisions ahead",
  "slow-motion": "Slow motion",
  "ghost": "Ghost",
  "ghost-back": "Ghost: versions back",
  "hint-seen": "Got it",
  "share": "Share",
  "save-policy": "Save policy",
  "load-policy": "Load policy",
  "policy-file": "Policy file",
  "save-replay": "Save replay",
  "load-replay": "Load replay",
  "replay-file": "Replay file",
  "replay-leave": "Back to the live match",
  "web-page": "Save web page",
  "save-picture": "Save picture",
  "save-gif": "Save GIF (last 10 s)",
  "save-video": "Save video (last 10 s)",
  "full-screen": "Full screen",
  "tab-learn": "Learn",
  "tab-mind": "Mind",
  "tab-rewards": "Rewards",
  "tab-settings": "Settings",
  "more-curves": "More curves",
  "log-scale": "Log scale",
  "chart-table": "Table",
  "chart-axis": "Chart axis",
  "export-csv": "Export CSV",
  "export-png": "Export PNG",
  "event-log": "Event log",
  "player": "Player",
  "afterwards": "Afterwards",
  "own-reward": "A reward of your own",
  "own-measure": "What it pays for",
  "own-line": "One line of the rules language",
  "own-train": "Train with it",
  "own-remove": "Remove it",
  "copy-own-reward": "Copy the cell",
  "reset-rewards": "Reset rewards",
  "preset": "Preset",
  "copy-python": "Copy as Python",
  "python-code": "Settings as Python",
  "start-from": "Start from",
  "who-learns": "Who learns",
  "more-settings": "More settings",
  "submit": "Submit",
  "slower": "Slower",
  "faster": "Faster",
  "time": "Time",
  "drill-this": "Drill this",
  "tab-coach": "Coach",
  "scene-share": "Share of practice games",
  "tab-league": "League",
  "tab-gate": "Gate",
  "gate-map": "Expected reward map",
  "gate-map-kind": "Parasite",
  "tab-dream": "Dream",
  "imagine-again": "Imagine again",
  "dream-screen": "Dream to play in",
  "dream-enter": "Play inside the dream",
  "dream-leave": "Leave the dream",
  "train-in-page": "Train in this page",
  "keep-policy": "Save policy",
  "continue-kept": "Continue from it",
  "other-kept": "Show another",
  "discard-kept": "Discard it"
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
  "opponent": "",
  "renderer": "auto"
} as const;

export const Z95 = 1.959963984540054 as const;

export const SWAP_INTERVAL_MS_MIN = 250 as const;

export const METRICS = {
  "return_mean": {
    "category": "ACTOR",
    "unit": "reward",
    "text": "Mean return of a learning side in recently finished matches.",
    "should_rise": true
  },
  "entropy": {
    "category": "TRAINER",
    "unit": "nats",
    "text": "Randomness of the policy; it should fall slowly, but not collapse to zero.",
    "should_rise": false
  }
} as const;

export const MACHINE_METRICS = [
  "updates_per_second",
  "agent_steps_per_second",
  "duration_ms",
  "rollout_ms",
  "update_ms",
  "memory_mb",
  "processors",
  "show_fps",
  "gpu_time_ms",
  "simulated_steps_per_second"
] as const;

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
