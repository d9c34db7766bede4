"""What SPO learns from the replay: the policy from the searches' targets, the critic from returns, the duals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from dshq_kernels.network import mlp, search_loss
from dshq_kernels.network.gradient import add_gradient, learn_scratch
from dshq_kernels.network.ppo_loss import SUMS
from dshq_kernels.network.update import step_groups
from dshq_kernels.run.draws import Draws
from dshq_kernels.search.sequences import Lesson, scratch_floats, study
from dshq_kernels.simd.lanes import LANES
from dshq_kernels.simd.vector import aligned
from dshq_widget.algorithms.spo.duals import Dual, temperature_loss
from dshq_widget.algorithms.spo.replay import Replay
from dshq_widget.algorithms.spo.settings import SpoSettings
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.learning.parts import Experience, Progress
from dshq_widget.learning.schedule import rate_factor
from dshq_widget.policy.network import PolicySpec

ADAM_EPSILON = 1e-5
"""As in Stoix's `ff_spo.py`."""
NOTHING = np.zeros((0, 2), np.float32)
UNUSED = (np.float32(0), np.float32(1), np.float32(1), np.float32(1))
"""What the gradient's function knows of advantages, which this loss has not."""


class SpoLearner:
    """A learner of a run (parts.py): the newest network, the target network, the duals. `threads` share a step."""

    def __init__(self, spec: PolicySpec, settings: SpoSettings, seed: int, threads: int = 1) -> None:
        self.spec, self.settings, self.threads, self.skipped = spec, settings, threads, 0
        self.noise = 0.0
        """Share of noise at the root beyond what the settings say: raised when the policy stops exploring."""
        self.plan = mlp.make_plan(spec.layers, spec.separate)
        self.activation = mlp.ACTIVATIONS[spec.activation]
        floats = mlp.plan_floats(self.plan)
        self._params, self._moment, self._square, self._target = (aligned(floats) for _ in range(4))
        self._gradients = aligned((threads, floats + LANES))
        scratch = max(learn_scratch(self.plan), scratch_floats(self.plan, settings.sample_sequence_length))
        self._scratch = aligned((threads, scratch))
        self._mask = mlp.pack(self.plan, spec.mask())
        self._groups = mlp.pack(self.plan, critic_weights(spec))
        n = settings.sample_batch_size // LANES * settings.sample_sequence_length
        self._targets, self._policy = (aligned((n, spec.n_actions, LANES)) for _ in range(2))
        self._returns, self._values = aligned((n, LANES)), aligned((n, LANES))
        self._lesson = Lesson(*(one.ctypes.data for one in (self._targets, self._policy, self._returns, self._values)))
        self._loss = search_loss.address()
        self._draws = Draws(seed, 0x5B0)
        self._pool = ThreadPoolExecutor(max(1, threads - 1), thread_name_prefix="dshq-learn")
        self._first = (settings.init_log_temperature, settings.init_log_alpha)
        self.load(spec.untrained(seed))

    # ---- what the games need

    @property
    def player(self) -> SpoLearner:
        return self

    @property
    def temperature(self) -> float:
        """Of the search's weights; 0: found for each decision."""
        return self.dual_temperature.value if self.settings.adaptive_temperature else self.settings.fixed_temperature

    def blob(self) -> np.ndarray:
        return mlp.unpack(self.plan, self._params)

    # ---- learning

    def change(self, settings: SpoSettings) -> None:
        """Learn with other settings from now on."""
        self.settings = settings

    def explore(self, noise: float) -> None:
        """Search with this noise until the next update."""
        self.noise = noise

    def schedule(self, progress: Progress) -> dict[str, float]:
        return {"learning_rate": progress.config.learning_rate * self.factor(progress)}

    def factor(self, progress: Progress) -> float:
        """Of the learning rates at the next update: the schedule, and setbacks."""
        return rate_factor(progress.config, progress.agent_steps) * progress.rate

    def update(self, experience: Experience, progress: Progress) -> dict[str, float]:
        """Learn from the replay, so often that each decision is learned from `replay_ratio` times on average."""
        settings, replay = self.settings, experience.samples
        self.noise = progress.entropy_bonus
        size = settings.sample_batch_size * settings.sample_sequence_length
        rows = []
        for _ in range(max(1, round(experience.agent_steps * settings.replay_ratio / size))):
            row = self.step(replay, progress.config, self.factor(progress))
            if row is None:
                self.skipped += 1
                break
            rows.append(row)
        means = {key: float(np.mean([row[key] for row in rows])) for key in rows[0]} if rows else {}
        return means | {"temperature": self.temperature, "alpha": self.dual_alpha.value, "buffer_size": len(replay)}

    def step(self, replay: Replay, config: TrainConfig, factor: float = 1.0) -> dict[str, float] | None:
        """One learning step of all three optimisers; None, and nothing is changed, if a gradient is not finite."""
        s = self.settings
        sequences = replay.sample(self._draws, s.sample_batch_size // LANES, s.sample_period)
        units = replay.units(sequences)
        self._study(replay, sequences, config)
        sums = self._gradient(replay, units, config.value_coef)
        norms = step_groups(
            self._params,
            self._moment,
            self._square,
            self._gradients[:, : len(self._params)],
            self._groups,
            (config.learning_rate * factor, (s.critic_learning_rate or config.learning_rate) * factor),
            ADAM_EPSILON,
            float(config.max_grad_norm),
            self._steps + 1,
        )
        if not np.isfinite(norms).all():
            return None
        self._steps += 1
        self._target += np.float32(s.tau) * (self._params - self._target)
        crossed, error, entropy, divergence, _ = (sums / (len(units) * LANES)).tolist()
        totals = replay.total.reshape(-1, *replay.total.shape[2:])[units]
        loss, slope = temperature_loss(totals, self.dual_temperature.value, s.epsilon)
        alpha = self.dual_alpha.value
        self.dual_temperature.step(slope, s.dual_lr)
        self.dual_alpha.step(s.epsilon_policy - divergence, s.dual_lr)
        spread = float(np.var(self._returns))
        return {
            "loss_policy": crossed,
            "loss_value": error,
            "entropy": entropy,
            "approx_kl": divergence,
            "loss_temperature": loss,
            "loss_alpha": alpha * (s.epsilon_policy - divergence),
            "grad_norm": float(norms[0]),
            "explained_variance": 1 - float(np.var(self._returns - self._values)) / spread if spread else 0.0,
        }

    def _share(self, work: Callable[[int], None]) -> None:
        """Run `work(thread)` on all threads."""
        others = [self._pool.submit(work, thread) for thread in range(1, self.threads)]
        work(0)
        for other in others:
            other.result()

    def _study(self, replay: Replay, sequences: np.ndarray, config: TrainConfig) -> None:
        """What there is to learn from these sequences, by the target network."""
        n = len(sequences)

        def work(thread: int) -> None:
            study(
                self.plan,
                self.activation,
                self._target.ctypes.data,
                replay.ring,
                sequences,
                replay.length,
                n * thread // self.threads,
                n * (thread + 1) // self.threads,
                np.float32(config.gamma),
                np.float32(config.gae_lambda),
                self._lesson,
                self._scratch[thread].ctypes.data,
            )

        self._share(work)

    def _gradient(self, replay: Replay, units: np.ndarray, value_coef: float) -> np.ndarray:
        """The loss's gradient over these units, in parts of threads, to `self._gradients`. Returns the loss's sums, f64
        `[SUMS]`.
        """
        share = np.float32(1 / (len(units) * LANES))
        numbers = np.array([self.dual_alpha.value, value_coef, share], np.float32)
        sums = np.zeros((self.threads, SUMS, LANES), np.float32)
        ring = replay.ring
        data = (ring.obs, 0, 0, 0, 0, 0, ring.mask, 0, 0, 1)
        self._gradients[:] = 0

        def work(thread: int) -> None:
            first, last = len(units) * thread // self.threads, len(units) * (thread + 1) // self.threads
            lesson = self._lesson
            read = search_loss.Read(lesson.targets, lesson.policy, lesson.returns, numbers.ctypes.data, first).array()
            add_gradient(
                self.plan,
                self.activation,
                self._params.ctypes.data,
                data,
                units[first:last],
                np.ones(last - first, np.float32),
                NOTHING,
                UNUSED,
                (np.float32(1), False, np.float32(1), np.float32(0)),
                (self._loss, read.ctypes.data),
                self._gradients[thread].ctypes.data,
                sums[thread].ctypes.data,
                self._scratch[thread].ctypes.data,
            )

        self._share(work)
        self._gradients[:, : len(self._mask)] *= self._mask
        return sums.sum(axis=(0, 2), dtype=np.float64)

    # ---- loading and saving

    def load(self, blob: np.ndarray) -> None:
        if not self.spec.fits(blob):
            raise ValueError(f"these weights do not belong to a network of layers {list(self.spec.layers)}")
        self._params[:] = self._target[:] = mlp.pack(self.plan, blob)
        self._moment[:] = self._square[:] = 0
        self._steps = 0
        self.dual_temperature, self.dual_alpha = (Dual(first) for first in self._first)

    def state(self) -> dict[str, np.ndarray]:
        return {
            "adam_m": mlp.unpack(self.plan, self._moment),
            "adam_v": mlp.unpack(self.plan, self._square),
            "adam_step": np.array(self._steps, np.int64),
            "generator_update": self._draws.state(),
            "train.spo.target": mlp.unpack(self.plan, self._target),
            "train.spo.duals": np.stack([self.dual_temperature.numbers, self.dual_alpha.numbers]),
        }

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        if "train.spo.target" not in state:
            return
        self._moment[:] = mlp.pack(self.plan, state["adam_m"])
        self._square[:] = mlp.pack(self.plan, state["adam_v"])
        self._steps = int(state["adam_step"])
        self._draws = Draws.restored(state["generator_update"])
        self._target[:] = mlp.pack(self.plan, state["train.spo.target"])
        self.dual_temperature.numbers[:], self.dual_alpha.numbers[:] = state["train.spo.duals"]


def critic_weights(spec: PolicySpec) -> np.ndarray:
    """f32 `[floats]`: 1 for the weights that only the critic uses. A network with one trunk shares it; then they are
    those of the value's output.
    """
    marked = np.zeros(spec.floats, np.float32)
    networks, parts = spec.networks(marked), spec.split(marked)
    if spec.separate:
        for matrix in networks[1]:
            matrix[:] = 1
        for _, bias in parts[:-1]:
            bias[len(bias) // 2 :] = 1
    else:
        networks[0][-1][:, -1] = 1
    parts[-1][1][-1] = 1
    return marked
