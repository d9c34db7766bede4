"""PPO with the project's own kernels: forward, loss, backward and Adam in one compiled loop on a few threads, without
torch."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from dshq_kernels.network import mlp
from dshq_kernels.network.gradient import learn_scratch
from dshq_kernels.network.ppo_loss import SUMS
from dshq_kernels.network.update import learn
from dshq_kernels.play.rollout import Samples
from dshq_kernels.run.draws import Draws
from dshq_kernels.run.moments import moments
from dshq_kernels.simd.vector import aligned
from dshq_widget.algorithms.ppo.learners import learner
from dshq_widget.algorithms.ppo.learners.learner import Hyper
from dshq_widget.algorithms.ppo.learners.normalizer import Normalizer
from dshq_widget.policy.network import PolicySpec

SUM_NAMES = ("loss_policy", "loss_value", "entropy", "approx_kl", "clip_fraction")


class FusedPPO:
    """See `learners.Learner`. `threads` share each minibatch; the result depends on their number in the last bits
    only."""

    def __init__(self, spec: PolicySpec, *, seed: int = 0, threads: int = 1, normalizer: Normalizer | None = None):
        self.spec, self.seed, self.threads, self.skipped = spec, seed, threads, 0
        self.normalizer = normalizer or Normalizer(spec)
        self.plan = mlp.make_plan(spec.layers, spec.separate)
        self.activation = mlp.ACTIVATIONS[spec.activation]
        floats = mlp.plan_floats(self.plan)
        self._state = aligned((threads, 3, floats))  # parameters and Adam's two moments, a copy per thread
        self._gradients = aligned((2, threads, floats + 16))
        self._scratch = aligned((threads, learn_scratch(self.plan)))  # with a memory for sequences of one decision
        self._mask = mlp.pack(self.plan, spec.mask()) if spec.separate else aligned(0)
        self._meeting = aligned(8, np.int64)
        self._step = 0
        self._draws = Draws(seed, learner.ORDERS)
        self._pool = ThreadPoolExecutor(max(1, threads - 1), thread_name_prefix="dshq-learn")
        self._set(spec.untrained(seed))

    @property
    def params(self) -> np.ndarray:
        """The padded parameters, as rollouts read them; they change with every update."""
        return self._state[0, 0]

    def update(self, samples: Samples, units: np.ndarray, hyper: Hyper) -> dict[str, float]:
        """See `learners.Learner.update`."""
        normalizer = self.normalizer
        mean, deviation, explained = moments(units, samples.advantage, samples.value, samples.returns)
        if normalizer.measures:
            self._set(normalizer.measured(self.blob(), samples, units))
            return {"explained_variance": explained}
        if normalizer.active:
            self._set(normalizer.unfold(self.blob()))
        order, importance, bounds = self._drawn(samples, units, hyper)
        sums = np.zeros((self.threads, SUMS + 4))
        self._meeting[0] = 0
        self._make_room(samples.length)

        def work(thread: int) -> None:
            self._learn(
                thread, self._state, self._gradients, samples, order, importance, bounds, mean, deviation, hyper, sums
            )

        self._on_all(work)
        norms, applied, skipped = sums[0, SUMS + 1 :]
        self._step += int(applied)
        self.skipped += int(skipped)
        metrics = {**self._parts(sums), "grad_norm": float(norms / applied)} if applied else {}
        if normalizer.active:
            self._set(normalizer.learned(self.blob(), samples, units))
        return {**metrics, "explained_variance": explained}

    def correct_lag(self, samples: Samples, units: np.ndarray) -> None:
        """See `learners.Learner.correct_lag`. Raises ValueError for samples that may not be written."""
        if not (samples.log_prob.flags.writeable and samples.advantage.flags.writeable):
            raise ValueError("expected samples that may be written, got read-only ones: copy log_prob and advantage")
        folded = self.blob()
        self._set(self.normalizer.unfold(folded))
        order = (learner.sequences(units, samples.length).ravel() if self.spec.memory else units).astype(np.int64)
        none, hyper = np.zeros(0, np.float32), Hyper()
        sums = np.zeros((self.threads, SUMS + 4))
        self._make_room(samples.length)

        def work(thread: int) -> None:
            state, gradients, begins = self._state, self._gradients, np.zeros(1, np.int64)
            self._learn(thread, state, gradients, samples, order, none, begins, 0.0, 1.0, hyper, sums, correcting=True)

        self._on_all(work)
        self._set(folded)

    def _on_all(self, work: Callable[[int], None]) -> None:
        """Let every thread do its part."""
        others = [self._pool.submit(work, thread) for thread in range(1, self.threads)]
        work(0)
        for other in others:
            other.result()

    def _drawn(self, samples: Samples, units: np.ndarray, hyper: Hyper) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """See `learner.plan_minibatches`."""
        return learner.plan_minibatches(self._draws, units, samples.advantage, hyper, samples.length)

    def gradient(self, samples: Samples, units: np.ndarray, hyper: Hyper) -> tuple[np.ndarray, dict[str, float]]:
        """See `learners.Learner.gradient`; on one thread."""
        state, gradients = aligned((1, *self._state.shape[1:])), aligned((2, 1, self._gradients.shape[2]))
        state[0, 0] = mlp.pack(self.plan, self.normalizer.unfold(self.blob()))
        mean, deviation, _ = moments(units, samples.advantage, samples.value, samples.returns)
        order = (learner.sequences(units, samples.length).ravel() if self.spec.memory else units).astype(np.int64)
        importance, bounds = np.ones(len(units), np.float32), np.array([0, len(units)])
        still = dataclasses.replace(hyper, learning_rate=0.0, target_kl=0.0)
        sums = np.zeros((1, SUMS + 4))
        self._make_room(samples.length)
        self._learn(0, state, gradients, samples, order, importance, bounds, mean, deviation, still, sums)
        return mlp.unpack(self.plan, gradients[0, 0]), self._parts(sums)

    def _learn(
        self,
        thread: int,
        state: np.ndarray,
        gradients: np.ndarray,
        samples: Samples,
        order: np.ndarray,
        importance: np.ndarray,
        bounds: np.ndarray,
        mean: float,
        deviation: float,
        hyper: Hyper,
        sums: np.ndarray,
        correcting: bool = False,
    ) -> None:
        """`learn` with this learner's memory; `mean` and `deviation` are of the advantages."""
        f32 = np.float32
        mean, scale = (
            (mean, 1 / (deviation + 1e-8)) if hyper.normalize_advantages else (0.0, self.normalizer.reward_scale)
        )
        learn(
            thread,
            len(state),
            self._meeting.ctypes.data,
            self.plan,
            self.activation,
            state,
            gradients,
            self._scratch,
            (*samples.addresses, samples.length),
            order,
            importance,
            bounds,
            self.normalizer.inputs,
            (f32(mean), f32(scale), f32(self.normalizer.reward_scale)),
            self._mask,
            (f32(hyper.clip_epsilon), hyper.clip_value, f32(hyper.value_coef), f32(hyper.entropy_coef)),
            (
                float(hyper.learning_rate),
                learner.ADAM_EPSILON,
                float(hyper.max_grad_norm),
                float(hyper.target_kl * learner.KL_MARGIN),
                self._step,
            ),
            correcting,
            sums,
        )

    def _make_room(self, length: int) -> None:
        """Scratch memory for sequences of `length` decisions."""
        floats = learn_scratch(self.plan, length)
        if self._scratch.shape[1] < floats:
            self._scratch = aligned((len(self._scratch), floats))

    def _parts(self, sums: np.ndarray) -> dict[str, float]:
        """The parts of the loss, from the threads' sums; the value loss is in reward units."""
        means = sums[:, :SUMS].sum(0) / sums[:, SUMS].sum()
        parts = {name: float(mean) for name, mean in zip(SUM_NAMES, means, strict=True)}
        return {**parts, "loss_value": parts["loss_value"] / self.normalizer.reward_scale**2}

    def _set(self, blob: np.ndarray) -> None:
        self._state[:, 0] = mlp.pack(self.plan, blob)

    def blob(self) -> np.ndarray:
        """See `learners.Learner.blob`."""
        return mlp.unpack(self.plan, self._state[0, 0])

    def load(self, blob: np.ndarray) -> None:
        """See `learners.Learner.load`."""
        learner.check(self.spec, blob)
        self._state[:] = 0
        self._set(blob)
        self._step = 0
        self.normalizer.loaded(untrained=np.array_equal(blob, self.spec.untrained(self.seed)))

    def state(self) -> dict[str, np.ndarray]:
        """See `learners.Learner.state`."""
        return {
            "adam_m": mlp.unpack(self.plan, self._state[0, 1]),
            "adam_v": mlp.unpack(self.plan, self._state[0, 2]),
            "adam_step": np.array(self._step, np.int64),
            "generator_update": self._draws.state(),
            **self.normalizer.state(),
        }

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """See `learners.Learner.restore`."""
        self._state[:, 1] = mlp.pack(self.plan, state["adam_m"])
        self._state[:, 2] = mlp.pack(self.plan, state["adam_v"])
        self._step = int(state["adam_step"])
        self._draws = Draws.restored(state["generator_update"])
        self.normalizer.restore(state)
