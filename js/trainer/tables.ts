// Written by `make tables` from dshq_kernels and dshq_widget: change it there.

export const STACK_TOP = 1048576 as const;

export const RECORDS = {
  "forward": [
    "plan",
    "layers",
    "activation",
    "params",
    "x",
    "x_other",
    "allowed",
    "other_allowed",
    "memory",
    "other_memory",
    "keep",
    "scratch",
    "result"
  ],
  "play": [
    "verbs",
    "n_verbs",
    "tiles",
    "tile_bytes",
    "n_tiles",
    "sides",
    "n_obs",
    "time_limit",
    "action_repeat",
    "mask_verb",
    "groups",
    "n_groups",
    "opponents",
    "length",
    "plan",
    "layers",
    "activation",
    "params",
    "policies",
    "policy_bytes",
    "weights",
    "potential",
    "n_terms",
    "gamma",
    "gae_lambda",
    "seed",
    "first_count",
    "scenes",
    "n_scenes",
    "scene_words",
    "scene_share",
    "running",
    "memories",
    "obs",
    "action",
    "log_prob",
    "value",
    "advantage",
    "returns",
    "mask",
    "begins",
    "states",
    "first_unit",
    "stats",
    "scratch"
  ],
  "learn": [
    "plan",
    "layers",
    "activation",
    "state",
    "floats",
    "gradients",
    "scratch",
    "scratch_floats",
    "obs",
    "action",
    "log_prob",
    "value",
    "advantage",
    "returns",
    "mask",
    "begins",
    "states",
    "length",
    "order",
    "importance",
    "n_order",
    "bounds",
    "n_bounds",
    "normal",
    "n_normal",
    "advantage_mean",
    "advantage_scale",
    "reward_scale",
    "trained",
    "n_trained",
    "clip",
    "clip_value",
    "value_coef",
    "entropy_coef",
    "learning_rate",
    "epsilon",
    "max_norm",
    "target_kl",
    "steps",
    "metrics",
    "n_metrics"
  ],
  "matches": [
    "verbs",
    "n_verbs",
    "tiles",
    "tile_bytes",
    "n_tiles",
    "sides",
    "n_obs",
    "time_limit",
    "action_repeat",
    "mask_verb",
    "side_of",
    "kind",
    "other_kind",
    "plan",
    "layers",
    "activation",
    "params",
    "other_plan",
    "other_layers",
    "other_activation",
    "other_params",
    "n_actions",
    "greedy",
    "seed",
    "weights",
    "n_terms",
    "results",
    "lengths",
    "returned",
    "actions",
    "memories",
    "other_memories",
    "scratch"
  ],
  "plan_network": [
    "dense",
    "n_dense",
    "front",
    "n_front",
    "in_front",
    "memory",
    "separate",
    "n_obs",
    "n_actions",
    "length",
    "plan",
    "layers",
    "pieces",
    "floats",
    "play_scratch",
    "learn_scratch"
  ],
  "seed": [
    "generator",
    "out",
    "count",
    "bound",
    "items",
    "n_items"
  ],
  "words": [
    "generator",
    "out",
    "count",
    "bound",
    "items",
    "n_items"
  ],
  "below": [
    "generator",
    "out",
    "count",
    "bound",
    "items",
    "n_items"
  ],
  "uniform": [
    "generator",
    "out",
    "count",
    "bound",
    "items",
    "n_items"
  ],
  "normal": [
    "generator",
    "out",
    "count",
    "bound",
    "items",
    "n_items"
  ],
  "shuffle": [
    "generator",
    "out",
    "count",
    "bound",
    "items",
    "n_items"
  ],
  "weighted": [
    "generator",
    "out",
    "count",
    "bound",
    "items",
    "n_items"
  ],
  "plan_minibatches": [
    "generator",
    "begins",
    "n",
    "length",
    "advantage",
    "all_units",
    "epochs",
    "count",
    "shuffled",
    "alpha",
    "beta",
    "room",
    "drawn",
    "order",
    "importance",
    "bounds"
  ],
  "moments": [
    "units",
    "n",
    "advantage",
    "value",
    "returns",
    "all_units",
    "mean",
    "deviation",
    "explained"
  ],
  "add_moments": [
    "units",
    "n",
    "values",
    "all_units",
    "size",
    "moments",
    "room"
  ],
  "difference": [
    "won",
    "played",
    "gap"
  ],
  "ratings": [
    "n",
    "points",
    "matches",
    "pinned",
    "rating",
    "deviations",
    "free",
    "room"
  ]
} as const;

export const REALS = [
  "gamma",
  "gae_lambda",
  "scene_share",
  "advantage_mean",
  "advantage_scale",
  "reward_scale",
  "clip",
  "value_coef",
  "entropy_coef",
  "learning_rate",
  "epsilon",
  "max_norm",
  "target_kl",
  "won",
  "played",
  "gap",
  "alpha",
  "beta",
  "mean",
  "deviation",
  "explained"
] as const;

export const STATS = [
  "episodes",
  "wins_0",
  "wins_1",
  "draws",
  "decisions",
  "returns",
  "return_sum",
  "return_min",
  "return_max",
  "agent_steps"
] as const;

export const DRAWS = {
  "starts": 20958,
  "match_starts": 239556,
  "orders": 763844,
  "weights": 5143
} as const;

export const KEPT_WORDS = 3 as const;

export const PLAN_COLUMNS = 27 as const;

export const PAIR_ENTRIES = [
  "mean_lanes",
  "mean_slope",
  "judge_lanes",
  "judge_slope"
] as const;

export const PIECES = 3 as const;

export const ACTIVATIONS = {
  "none": 0,
  "tanh": 1,
  "relu": 2
} as const;

export const GATES = 4 as const;

export const MOST_WORK = 67108864 as const;

export const MOST_SWEEPS = 256 as const;

export const MOST_VISITS = 262144 as const;

export const MOST_NEAR = 8388608 as const;

export const WAYS = 4 as const;

export const BLOCK = 8 as const;

export const SUM_NAMES = [
  "loss_policy",
  "loss_value",
  "entropy",
  "approx_kl",
  "clip_fraction"
] as const;

export const ADAM_EPSILON = 1e-08 as const;

export const KL_MARGIN = 1.5 as const;

export const FINAL_RATE = 0.1 as const;

export const WARM_UP = 0.02 as const;

export const FIRST_COUNT = 0.0001 as const;

export const SMALLEST = 0.01 as const;

export const GAINS = {
  "hidden": 1.4142135623730951,
  "policy": 0.01,
  "value": 1.0,
  "context": 1.0,
  "grid": 0.3,
  "memory": 1.0
} as const;

export const MOST_SLOTS = 8 as const;

export const EVALUATION = {
  "matches": 128,
  "episodes": 100,
  "ema": 0.5,
  "most_share": 0.1
} as const;

export const RUN = {
  "report_seconds": 0.5,
  "rest_seconds": 0.5,
  "rollback_rate": 0.5,
  "least_rate": 0.015625,
  "most_skips": 3,
  "most_reverts": 5,
  "recovery": 1000
} as const;

export const GUARD = {
  "kl_limit": 1.0,
  "value_limit": 30.0,
  "value_memory": 0.02,
  "value_warm_up": 100,
  "strikes": 3
} as const;

export const SCENES = {
  "matches": 128,
  "pause_seconds": 5.0,
  "most_share": 0.05
} as const;

export const FILE = {
  "most_bytes": 268435456,
  "most_of_header": 262144,
  "most_layers": 12,
  "most_width": 65536,
  "most_tensors": 64,
  "most_dimensions": 4,
  "most_count": 1000000000000000,
  "most_pictures": 16,
  "large_picture": 36
} as const;

export const CONVOLUTIONS = [
  [
    32,
    8,
    4
  ],
  [
    64,
    4,
    2
  ],
  [
    64,
    3,
    1
  ]
] as const;

export const OF_SMALL = [
  [
    16,
    3,
    1
  ],
  [
    32,
    3,
    1
  ]
] as const;

export const ENTROPY = {
  "updates": 3,
  "reserve": 2.0,
  "first_bonus": 0.01,
  "largest_bonus": 0.1,
  "memory": 0.1
} as const;

export const FALL = {
  "fall": 0.75,
  "middle": 0.875,
  "false_alarms": 0.001,
  "spread": 64,
  "suspicion": 1.0,
  "futile": 3.0,
  "pairs": 128,
  "batches": 32,
  "worth": 0.25,
  "crowning": 32,
  "testing": 64
} as const;

export const LEAGUE = {
  "capacity": 100,
  "most_snapshots": 200,
  "most_matches": 1000000000.0,
  "recent": 0.6,
  "best": 0.2,
  "most_bytes": 8388608,
  "latest": 0.1,
  "uniform": 0.3,
  "hardness": 2,
  "ema": 0.05,
  "pinned_matches": 128,
  "champion_matches": 128,
  "rival_matches": 8,
  "rivals": 16,
  "champion_series": 31,
  "round_series": 256,
  "base_elo": 1000.0,
  "base_matches": 2048,
  "thrift": 24,
  "meetings": 7846,
  "leavers": 255,
  "opponents": 54435
} as const;
