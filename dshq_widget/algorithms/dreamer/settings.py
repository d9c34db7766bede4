"""The settings of Dreamer, section `dreamer` of a configuration. A field's docstring is the help shown for it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import ClassVar

from dshq_widget.algorithms.dreamer.model.sizes import SIZES, STRIDE, rows_needed
from dshq_widget.contract.sections import Section
from dshq_widget.contract.setting import NEXT_UPDATE, RESTART, ConfigError, about, setting


@dataclasses.dataclass(frozen=True)
class DreamerSettings(Section):
    """Model, replay and imagination. Defaults are for two processor cores; sources are named where a value has one."""

    ALIASES: ClassVar[Mapping[str, str]] = {
        "num_envs": "games",
        "seq_len": "sequence",
        "batch_size": "batch",
        "imag_horizon": "horizon",
        "replay_ratio": "ratio",
        "train_ratio": "ratio",
        "safety_margin": "margin",
    }
    COUNTED: ClassVar[Mapping[str, str]] = {
        "replay_capacity": "ring, which counts the frames of all games: steps x games",
        "min_ready_steps": "prefill, which counts the frames of all games: steps x games",
        "learning_starts": "prefill, which counts the frames of all games",
    }

    size: str = setting("pico", "choice", "Model size", RESTART, "dreamer", choices=tuple(SIZES), network=True)
    """Widths and layers (algorithms/dreamer/model/sizes.py): pico, spots and nano for a processor, others for a GPU."""
    games: int = setting(16, "int", "Games", RESTART, "dreamer", unit="games", lo=8, hi=4096, multiple=8)
    """Games played at once; a multiple of 8, so that every row of the ring is aligned."""
    repeat: int = setting(1, "int", "Repeat", RESTART, "dreamer", unit="decisions", lo=1, hi=120)
    """Decisions of the drill for which an action is kept (PlaNet and Dreamer in the DeepMind Control Suite: 2; Atari
    agents: 4 frames). A step of the model lasts as long.
    """
    reward_scale: float = setting(1.0, "float", "Reward scale", RESTART, "dreamer", lo=1e-6, hi=1e6)
    """Factor of the rewards in training; shown and counted rewards are not scaled. Returns whose spread is below 1 are
    not scaled up, so rewards that are much smaller hardly move the policy.
    """
    reward_weights: dict[str, float] = dataclasses.field(
        default_factory=dict, metadata=about("weights", "Reward weights", RESTART, "dreamer", lo=-1000.0, hi=1000.0)
    )
    """Weights of reward terms that replace the drill's own, where the run's `reward_weights` say nothing of them: for
    what hangs on something that no frame shows, such as a clock.
    """
    ring: int = setting(65_536, "int", "Replay ring", RESTART, "dreamer", unit="frames", lo=64, hi=100_000_000)
    """Frames kept, over all games; 1,457 bytes each."""
    commit_stride: int = setting(STRIDE, "int", "Commit stride", RESTART, "dreamer", unit="steps", lo=1, hi=1024)
    """Steps that are released to the learner at a time (gbxcule: 8)."""
    margin: int = setting(STRIDE, "int", "Margin", RESTART, "dreamer", unit="steps", lo=0, hi=1024)
    """Steps at both ends of the ring that the learner leaves alone (gbxcule: as many as a sequence has)."""
    batch: int = setting(16, "int", "Batch", NEXT_UPDATE, "dreamer", unit="sequences", lo=1, hi=1024)
    """Sequences of an update (DreamerV3: 16)."""
    sequence: int = setting(16, "int", "Sequence", NEXT_UPDATE, "dreamer", unit="steps", lo=2, hi=1024)
    """Steps of a sequence (gbxcule: 16; DreamerV3: 64)."""
    context: str = setting(
        "empty", "choice", "Memory before a sequence", RESTART, "dreamer", choices=("empty", "stored")
    )
    """What a sequence begins with: an empty memory (gbxcule), or what was remembered at the step before it, kept in
    the ring beside each frame and renewed with each update (DreamerV3): 272 bytes more for a frame with pico, 528 with
    nano.
    """
    ratio: float = setting(16.0, "float", "Replay ratio", NEXT_UPDATE, "dreamer", lo=0.01, hi=4096.0)
    """Steps replayed for each step played (DreamerV3: 32 to 1024)."""
    prefill: int = setting(1024, "int", "Prefill", NEXT_UPDATE, "dreamer", unit="frames", lo=0, hi=100_000_000)
    """Frames of random play before learning begins."""
    horizon: int = setting(15, "int", "Imagination", NEXT_UPDATE, "dreamer", unit="steps", lo=1, hi=256)
    """Steps imagined from each state (DreamerV3: 15)."""
    starts: int = setting(256, "int", "Imagined states", NEXT_UPDATE, "dreamer", unit="states", lo=0, hi=1_000_000)
    """States of the batch from which imagination starts, drawn again for each update; 0 is all (DreamerV3)."""
    discount_horizon: float = setting(
        333.0, "float", "Discount horizon", NEXT_UPDATE, "dreamer", unit="decisions", lo=1.0, hi=1e6
    )
    """The discount is 1 - 1 / this (danijar/dreamerv3: 333); potentials are paid with it, too."""
    replay_value: float = setting(0.3, "float", "Critic on replay", NEXT_UPDATE, "dreamer", lo=0.0, hi=100.0)
    """Weight of the critic's loss on the steps that were played, beside those imagined (danijar/dreamerv3: 0.3)."""
    rare_shades: float = setting(0.0, "float", "Weight of rare shades", NEXT_UPDATE, "dreamer", lo=0.0, hi=1e6)
    """The most that a pixel of a rare shade weighs in the reconstruction, where each shade weighs the same in all; 0:
    every pixel weighs 1 (DreamerV3). 60 lets the model draw a ball early (measured: docs/LOG.md).
    """
    free_nats: float = setting(1.0, "float", "Free nats", NEXT_UPDATE, "dreamer", unit="nats", lo=0.0, hi=1e3)
    """Divergence of prior and posterior, over all latents of a step, that costs nothing (DreamerV3: 1). A small world
    needs less: below it the model does not learn to predict.
    """
    learning_rate: float = setting(4e-4, "float", "Model learning rate", NEXT_UPDATE, "dreamer", lo=0.0, hi=1.0)
    """Adam's step size for the world model (gbxcule: 6e-4, dreamerv3-torch: 1e-4)."""
    behaviour_learning_rate: float = setting(
        3e-4, "float", "Behaviour learning rate", NEXT_UPDATE, "dreamer", lo=0.0, hi=1.0
    )
    """Adam's step size for actor and critic (gbxcule: 3e-4, dreamerv3-torch: 3e-5)."""
    max_grad_norm: float = setting(100.0, "float", "Gradient norm limit", NEXT_UPDATE, "dreamer", lo=0.001, hi=1e6)
    """Gradients with a larger norm are scaled down to it (gbxcule: 100)."""
    entropy_coef: float = setting(3e-3, "float", "Entropy coefficient", NEXT_UPDATE, "dreamer", lo=0.0, hi=1.0)
    """Weight of the actor's entropy (DreamerV3: 3e-4 with smaller steps; measured: docs/LOG.md)."""
    opponent: str = setting("random", "text", "Opponent", RESTART, "dreamer")
    """Who plays the other side of a drill of two sides: random, idle or one of the drill's baselines."""
    unpack_impl: str = setting("lut", "choice", "Unpacking", RESTART, "dreamer", choices=("lut", "numba", "triton"))
    """How packed frames become pixels in the encoder; all give the same bits (pixels/unpackers.py)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        needed = rows_needed(self.sequence + (self.memory is not None), self.commit_stride, self.margin)
        if self.rows < needed:
            least = needed * self.games
            raise ConfigError(
                f"ring must hold a sequence of {self.sequence} steps and what an actor may write meanwhile: "
                f"{least} frames of {self.games} games, got {self.ring}"
            )

    @property
    def rows(self) -> int:
        """Steps of each game that the ring holds."""
        return self.ring // self.games

    @property
    def memory(self) -> tuple[int, int] | None:
        """Floats of h and variables of z that the ring keeps with a frame; None: it keeps none."""
        size = SIZES[self.size]
        return (size.deter, size.stoch) if self.context == "stored" else None

    @property
    def discount(self) -> float:
        return 1 - 1 / self.discount_horizon
