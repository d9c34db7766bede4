"""Every training setting that algorithms share, in one frozen dataclass used by Python, YAML, flags, page and
documentation. setting.py says what each field has.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Collection, Mapping
from typing import Any

from dshq_kernels.simd.lanes import LANES
from dshq_widget.contract.game_spec import GameSpec
from dshq_widget.contract.setting import (
    ESSENTIALS,
    NEXT_UPDATE,
    NOW,
    RESTART,
    ConfigError,
    about,
    docs,
    nearest,
    parse_value,
    setting,
    shown,
    spelled,
    wanted,
)

EVALUATE_ALONE_SECONDS = 0.25
"""Default of `evaluate_seconds` for drills of one side, whose evaluations are short."""


DEVICES: dict[str, str] = {
    "cuda": "NVIDIA's GPUs",
}
"""The devices besides the processor, as torch names them; gpu/device.py and drill/devices.py have what each needs."""

POOL = "pool"
"""Name of earlier policies in `opponents`."""


@dataclasses.dataclass(frozen=True)
class TrainConfig:
    """The hyper-parameters of one training run.

    The learning defaults are measured on the Ball Drill: 80 % of decided matches against the chaser within seconds.
    """

    num_envs: int = setting(
        1024, "int", "Games at once", RESTART, ESSENTIALS, unit="games", lo=16, hi=65536, multiple=LANES
    )
    """Number of games played in parallel, a multiple of 16."""
    rollout_length: int = setting(32, "int", "Rollout length", RESTART, "rollout", unit="decisions", lo=1, hi=4096)
    """Decisions played in every game between two updates."""
    total_agent_steps: int = setting(
        60_000_000, "int", "Schedule length", NEXT_UPDATE, "optimiser", unit="agent steps", lo=1000, hi=1e12
    )
    """Agent steps over which the learning rate and the entropy bonus are annealed; afterwards the final values stay."""
    epochs: int = setting(1, "int", "Epochs", NEXT_UPDATE, "optimiser", unit="passes", lo=1, hi=100)
    """Number of passes over each rollout."""
    minibatch_size: int = setting(
        4096, "int", "Minibatch size", NEXT_UPDATE, "optimiser", unit="agent steps", lo=16, hi=1 << 22
    )
    """Agent steps per optimiser step; if larger than the rollout, the whole rollout is used."""
    minibatch_order: str = setting(
        "random", "choice", "Minibatch order", NEXT_UPDATE, "optimiser", choices=("random", "sequential")
    )
    """Whether each epoch reshuffles the rollout or keeps the order in which it was played."""
    priority_alpha: float = setting(0.0, "float", "Priority exponent", NEXT_UPDATE, "optimiser", lo=0.0, hi=2.0)
    """How much more often samples with large advantages are used; 0 uses every sample once per epoch."""
    priority_beta: float = setting(0.4, "float", "Priority correction", NEXT_UPDATE, "optimiser", lo=0.0, hi=1.0)
    """Initial strength of the importance weights that correct the priorities' bias; rises to 1 over
    `total_agent_steps`.
    """
    learning_rate: float = setting(3e-3, "float", "Learning rate", NEXT_UPDATE, ESSENTIALS, lo=0.0, hi=1.0)
    """Adam's step size at the start of the schedule."""
    lr_schedule: str = setting(
        "linear", "choice", "Learning rate schedule", NEXT_UPDATE, "optimiser", choices=("constant", "linear", "cosine")
    )
    """Learning rate over `total_agent_steps`: constant, linear to 10 %, or warm-up and cosine to 10 %."""
    gamma: float = setting(0.995, "float", "Discount", NEXT_UPDATE, ESSENTIALS, lo=0.0, hi=1.0)
    """Weight of a reward one decision later relative to a reward now."""
    gae_lambda: float = setting(0.95, "float", "GAE lambda", NEXT_UPDATE, "loss", lo=0.0, hi=1.0)
    """Trade-off in advantage estimation: 0 is one-step (biased), 1 is whole-episode (noisy)."""
    clip_epsilon: float = setting(0.2, "float", "Clip range", NEXT_UPDATE, "loss", lo=0.001, hi=10.0)
    """How far one update may move an action's probability ratio away from 1."""
    clip_schedule: str = setting(
        "constant", "choice", "Clip range schedule", NEXT_UPDATE, "loss", choices=("constant", "linear")
    )
    """Clip range over `total_agent_steps`: constant, or linear to 10 %."""
    clip_value: bool = setting(False, "bool", "Clip the value", NEXT_UPDATE, "loss")
    """Whether the clip range also limits the change of the value estimate per update."""
    value_coef: float = setting(0.5, "float", "Value coefficient", NEXT_UPDATE, "loss", lo=0.0, hi=100.0)
    """Weight of the value loss relative to the policy loss."""
    entropy_coef: float = setting(0.003, "float", "Entropy coefficient", NEXT_UPDATE, ESSENTIALS, lo=0.0, hi=1.0)
    """Initial weight of the entropy bonus; falls linearly to 0 unless `lr_schedule` is constant."""
    max_grad_norm: float = setting(0.5, "float", "Gradient norm limit", NEXT_UPDATE, "optimiser", lo=0.0, hi=1e6)
    """Gradients with a larger norm are scaled down to it; 0 disables clipping."""
    target_kl: float = setting(0.0, "float", "Target KL", NEXT_UPDATE, "loss", unit="nats", lo=0.0, hi=10.0)
    """An update stops early once the KL divergence from the policy that played exceeds this; 0 disables it."""
    min_entropy: float = setting(0.05, "float", "Entropy floor", NEXT_UPDATE, "loss", unit="nats", lo=0.0, hi=10.0)
    """If entropy stays below this for three updates without better returns, training reverts to an earlier policy and
    explores more; 0 disables it.
    """
    hidden_sizes: tuple[int, ...] = setting(
        (64, 64), "sizes", "Hidden layers", RESTART, ESSENTIALS, unit="neurons", lo=1, hi=1024, network=True
    )
    """Width of each hidden layer; one to four layers."""
    activation: str = setting(
        "tanh", "choice", "Activation", RESTART, "network", choices=("tanh", "relu"), network=True
    )
    """Activation function of the hidden layers."""
    separate_value_net: bool = setting(False, "bool", "Separate value network", RESTART, "network", network=True)
    """Whether policy and value have separate hidden layers, each as wide as `hidden_sizes`."""
    memory: int = setting(0, "int", "Memory", RESTART, "network", unit="units", lo=0, hi=512, network=True)
    """Units of an LSTM layer behind the hidden layers, a memory within an episode; 0: none. For Gymnasium environments,
    and for drills without a grid or pairs, which then learn on the processor.
    """
    action_distribution: str = setting(
        "gaussian", "choice", "Action distribution", RESTART, "network", choices=("gaussian", "beta")
    )
    """Distribution of continuous actions in a Gymnasium environment: a Gaussian clipped to the bounds, or a beta
    distribution within them. Drills do not use it.
    """
    action_deviation: str = setting(
        "state", "choice", "Action deviation", RESTART, "network", choices=("state", "free")
    )
    """What the deviation of continuous actions in a Gymnasium environment depends on: the state, or nothing (one
    learned number for each action). For a beta distribution, this applies to the second parameter. Drills do not use
    it.
    """
    action_repeat: int = setting(1, "int", "Action repeat", RESTART, "rollout", unit="steps", lo=1, hi=100)
    """Steps of a Gymnasium environment for which each action is taken; a decision then lasts as long. Of an Atari
    game a step is four frames. Drills do not use it.
    """
    fire_on_reset: bool = setting(True, "bool", "Fire on reset", RESTART, "rollout")
    """Whether FIRE is pressed where an Atari game begins and after each lost life, if the game has it. Only Atari games
    use it.
    """
    life_ends_episode: bool = setting(True, "bool", "A lost life ends an episode", NEXT_UPDATE, "rollout")
    """Whether the learner takes a lost life of an Atari game for the end of an episode. The game continues, and returns
    are those of whole games. Only Atari games use it.
    """
    normalize_observations: bool = setting(False, "bool", "Normalise observations", RESTART, "network")
    """Whether observations are normalised to running mean 0 and standard deviation 1; folded into the first layer."""
    normalize_rewards: bool = setting(False, "bool", "Normalise rewards", RESTART, "network")
    """Whether the value is learned in units of the returns' running standard deviation; folded into the last layer."""
    reward_clip: float = setting(0.0, "float", "Reward clip", NEXT_UPDATE, "loss", unit="deviations", lo=0.0, hi=1e6)
    """Rewards of a Gymnasium environment are clipped to this many of the returns' running standard deviations, or with
    `normalize_rewards` off to this number itself; 0 leaves them alone. Drills do not use it.
    """
    normalize_advantages: bool = setting(True, "bool", "Normalise advantages", NEXT_UPDATE, "loss")
    """Whether advantages are normalised to mean 0 and standard deviation 1 over the rollout."""
    opponents: dict[str, float] = dataclasses.field(
        default_factory=lambda: {"self": 0.75, "chaser": 0.125, "random": 0.125},
        metadata=about("shares", "Opponents", RESTART, ESSENTIALS, unit="share of games"),
    )
    """Who plays the other side, as shares that add up to 1: self, pool (earlier policies), idle, random, one of the
    drill's baselines, or one policy: bronze, silver or gold of its ladder, or a version of the league such as v120.
    With self both sides learn; against the others one side learns, and they stay as they are.
    """
    snapshot_every: int = setting(
        100, "int", "Snapshot interval", NEXT_UPDATE, "self-play", unit="updates", lo=1, hi=1_000_000
    )
    """Updates between two snapshots (more if updates are small); each snapshot joins the pool and is rated."""
    collapse_guard: bool = setting(True, "bool", "Collapse guard", NEXT_UPDATE, "self-play")
    """Whether training reverts to the champion when a test finds that the score against a pinned opponent (random play
    or the drill's first baseline) has fallen to about three quarters of the best, or when updates become unstable.
    """
    reward_weights: dict[str, float] = dataclasses.field(
        default_factory=dict, metadata=about("weights", "Reward weights", NEXT_UPDATE, "loss", lo=-1000.0, hi=1000.0)
    )
    """Weight of each reward term, replacing the drill's own; other terms keep theirs."""
    scene_share: float = setting(
        0.3, "float", "Scene share", NEXT_UPDATE, "self-play", unit="share of games", lo=0.0, hi=0.9
    )
    """Share of new games that start from one of the arranged scenes, if there are any."""
    seed: int = setting(0, "int", "Seed", RESTART, ESSENTIALS, lo=0, hi=(1 << 32) - 1)
    """Seed of all random numbers of the run."""
    device: str = setting("auto", "choice", "Device", RESTART, "machine", choices=("auto", "cpu", *DEVICES))
    """Device of the learner; auto uses a working GPU if there is one (Dreamer: only if it is chosen)."""
    frames: str = setting("processor", "choice", "Frames", RESTART, "machine", choices=("processor", "device"))
    """Where the grey frames of an Atari game are made smaller and stacked in training: by OpenCV on the processor, or
    by torch on the learner's device, which then gets each frame once. Only Atari games use it.
    """
    workers: int = setting(-1, "int", "Workers", RESTART, "machine", unit="processes", lo=-1, hi=256)
    """Number of rollout processes; 0: the learner plays the games itself, -1: chosen automatically."""
    joint: bool = setting(False, "bool", "Joint learning", RESTART, "machine")
    """Whether the processes that torchrun has started learn one network together, each from `num_envs` games of its
    own; `minibatch_size` counts the samples of all of them. Only PPO on drills without a memory.
    """
    validate_every: int = setting(
        0, "int", "Validation interval", NEXT_UPDATE, "machine", unit="updates", lo=0, hi=1_000_000
    )
    """Updates between two checks of a minibatch's gradient against the torch reference; differences are reported; 0
    disables them.
    """
    deterministic: bool = setting(False, "bool", "Lock-step", RESTART, "machine")
    """Reproduce every run bit by bit: one CPU thread plays and learns in turn; `workers` is ignored."""
    pace: float = setting(0.0, "float", "Learning pace", NOW, "machine", unit="agent steps/s", lo=0.0, hi=1e9)
    """Upper limit of training speed; 0 is full speed."""
    evaluate_seconds: float = setting(
        1.5, "float", "Evaluation interval", NEXT_UPDATE, "machine", unit="s", lo=0.0, hi=86_400.0
    )
    """Seconds between two evaluations of the policy (0.25 by default for drills of one side); evaluation takes at most
    10 % of the time.
    """
    autosave_seconds: float = setting(
        300.0, "float", "Autosave interval", NEXT_UPDATE, "machine", unit="s", lo=0.0, hi=86_400.0
    )
    """Seconds between two autosaves; the first one comes within 10 s."""

    def __post_init__(self) -> None:
        for name, spec in FIELDS.items():
            object.__setattr__(self, name, parse_value(name, getattr(self, name), spec))

    @classmethod
    def from_values(cls, *layers: Mapping[str, Any] | None) -> TrainConfig:
        """The defaults overridden by each mapping of settings (or aliases) in turn; raises ConfigError."""
        return cls().replace(*layers)

    def replace(self, *layers: Mapping[str, Any] | None) -> TrainConfig:
        """This configuration overridden by each mapping of settings (or aliases) in turn; raises ConfigError."""
        config = self
        for layer in layers:
            config = dataclasses.replace(config, **canonical(layer or {}, config))
        return config

    def paying_for(self, terms: Collection[str]) -> TrainConfig:
        """This configuration without the weights of reward terms that are not among `terms`."""
        weights = {name: weight for name, weight in self.reward_weights.items() if name in terms}
        return self.replace({"reward_weights": weights})

    def to_json(self) -> dict[str, Any]:
        """All settings as plain JSON values; `from_values` reads them back."""
        values = dataclasses.asdict(self)
        return {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}


FIELDS: dict[str, Mapping[str, Any]] = {f.name: f.metadata for f in dataclasses.fields(TrainConfig)}

ALIASES = {
    "T": "rollout_length",
    "ppo_epochs": "epochs",
    "update_epochs": "epochs",
    "num_steps": "rollout_length",
    "lr": "learning_rate",
    "lambda": "gae_lambda",
    "clip": "clip_epsilon",
    "minibatch": "minibatch_size",
    "batch_size": "minibatch_size",
    "clip_eps": "clip_epsilon",
    "ent_coef": "entropy_coef",
    "vf_coef": "value_coef",
    "actor_lr": "learning_rate",
    "standardize_advantages": "normalize_advantages",
    "device_type": "device",
    "hidden_dim": "hidden_sizes",
    "decay_learning_rates": "lr_schedule",
}
"""Other names accepted on input."""
ELSEWHERE: Mapping[str, str] = {
    "critic_lr": "`learning_rate` is that of policy and value; SPO alone has another, `critic_learning_rate`",
    "reward_scale": "give `reward_weights`, by term, or `normalize_rewards`; Dreamer has one of its own",
    "tau": "it is SPO's own",
}
"""Names of the sources that are no shared settings -> what to give, or whose they are."""
DIVISOR = "num_minibatches"
"""Accepted on input, too: games x decisions of a rollout, divided by it, are `minibatch_size`."""
MINIBATCHES: Mapping[str, Any] = {"kind": "int", "min": 1, "max": 65536, "multiple": 1, "choices": (), "unit": ""}
"""What values it takes."""


OTHER_VALUES: dict[str, Callable[[Any], Any]] = {
    "hidden_dim": lambda width: [width, width],
    "decay_learning_rates": lambda decays: (
        "linear" if parse_value("decay_learning_rates", decays, {"kind": "bool"}) else "constant"
    ),
}
"""Aliases whose values mean something else: two layers of that width; whether the schedule is linear."""

SECTIONS = ("training_core", "ppo_core")
"""The YAML section that holds the settings, and its alias."""


def meant(name: Any, value: Any) -> Any:
    """A value that is given under any of a setting's names, as the setting's own."""
    return OTHER_VALUES.get(str(name).replace("-", "_"), _same)(value)


def canonical(values: Mapping[str, Any], base: TrainConfig | None) -> dict[str, Any]:
    """`values` under the settings' own keys, parsed; flags' dashes are read as underscores. Raises ConfigError.

    `num_minibatches` becomes `minibatch_size` by the rollout of these values and `base`; without `base` it stays, since
    a drill or a file may still say how long a rollout is.
    """
    out: dict[str, Any] = {}
    divide = None
    for given, value in values.items():
        key, value = spelled(given, ALIASES), meant(given, value)
        if key == DIVISOR:
            divide = parse_value(key, value, MINIBATCHES)
            continue
        if key not in FIELDS:
            hint = nearest(key, [*FIELDS, *ALIASES, DIVISOR]) or "; the settings are " + ", ".join(FIELDS)
            if key in ELSEWHERE:
                hint = f": {ELSEWHERE[key]}"
            raise ConfigError(f"unknown setting {shown(str(given))}{hint}")
        if key in out:
            raise ConfigError(f"{key} is given twice, the second time as {str(given)!r}: remove one")
        out[key] = parse_value(key, value, FIELDS[key])
    if divide is not None:
        if "minibatch_size" in out:
            raise ConfigError("give minibatch_size or num_minibatches, not both")
        if base is None:
            return {**out, DIVISOR: divide}
        rollout = out.get("num_envs", base.num_envs) * out.get("rollout_length", base.rollout_length)
        out["minibatch_size"] = parse_value("minibatch_size", max(rollout // divide, 1), FIELDS["minibatch_size"])
    return out


def overridden(values: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Settings under their own keys with others over them. One of `minibatch_size` and `num_minibatches` stays."""
    sizes = {"minibatch_size", DIVISOR}
    kept = {key: value for key, value in values.items() if key not in sizes or sizes.isdisjoint(more)}
    return {**kept, **more}


def _same(value: Any) -> Any:
    return value


def of_drill(spec: GameSpec) -> TrainConfig:
    """The initial settings for a drill: the defaults, overridden by the drill's own."""
    terms = [term.name for term in spec.terms]
    return for_drill(TrainConfig.from_values(spec.training), (), spec.baselines, terms, spec.sides)


def is_version(opponent: str) -> bool:
    """Whether this is the name of a version of the league, such as v120."""
    return opponent[:1] == "v" and opponent[1:].isdecimal()


def for_drill(config: TrainConfig, given: Any, baselines: Any, terms: Any, sides: int, ladder: Any = ()) -> TrainConfig:
    """`config` with its opponents and reward terms checked against a drill; raises ConfigError.

    `given` are the keys that the user chose, `ladder` the policies of the drill's ladder. Default opponents that the
    drill lacks are dropped and their share is split among the others. A drill of one side has no opponents.
    """
    if sides == 1:
        if "opponents" in given:
            raise ConfigError("opponents cannot be set: this drill has one side, so there is no opponent")
        config = dataclasses.replace(config, opponents={"self": 1.0})
        if "evaluate_seconds" not in given and config.evaluate_seconds == TrainConfig.evaluate_seconds:
            config = dataclasses.replace(config, evaluate_seconds=EVALUATE_ALONE_SECONDS)
    else:
        known = ["self", "pool", "idle", "random", *baselines, *ladder]
        unknown = [name for name in config.opponents if name not in known and not is_version(name)]
        if unknown and "opponents" in given:
            among = "among " + ", ".join(known) + " or a version of the league such as v120"
            raise wanted("opponents", among, unknown[0], nearest(unknown[0], known))
        config = without_opponents(config, unknown)
    for term in config.reward_weights:
        if term not in terms:
            raise wanted("reward_weights", "for the drill's terms " + ", ".join(terms), term, nearest(term, terms))
    return config


def without_opponents(config: TrainConfig, names: Collection[str]) -> TrainConfig:
    """`config` with the shares of these opponents split among the others; self alone where nobody else is left."""
    if config.opponents.keys().isdisjoint(names):
        return config
    kept = {name: share for name, share in config.opponents.items() if name not in names} or {"self": 1.0}
    return dataclasses.replace(config, opponents={name: share / sum(kept.values()) for name, share in kept.items()})


@functools.cache
def field_docs() -> dict[str, str]:
    """Field name -> the docstring written under it."""
    return docs(TrainConfig)


def schema() -> dict[str, dict[str, Any]]:
    """What the page needs to show each setting: its metadata (see `setting.about`) and its docstring as `help`."""
    return {key: {**spec, "choices": list(spec["choices"]), "help": field_docs()[key]} for key, spec in FIELDS.items()}
