"""PPO with the project's own kernels: forward, loss, backward and Adam in one compiled loop on a few threads, without
torch."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from dshq_kernels import mlp
from dshq_kernels.returns import moments
from dshq_kernels.rollout import Samples
from dshq_kernels.vector import aligned
from dshq_widget import learners
from dshq_widget.learners import Hyper
from dshq_widget.policy import PolicySpec

SUM_NAMES = ("loss_policy", "loss_value", "entropy", "approx_kl", "clip_fraction")


class FusedPPO:
    """See `learners.Learner`. `threads` share each minibatch; the result depends on their number in the last bits
    only."""

    def __init__(self, spec: PolicySpec, *, seed: int = 0, threads: int = 1):
        self.spec, self.threads, self.skipped = spec, threads, 0
        self.plan = mlp.make_plan(spec.layers)
        self.activation = mlp.ACTIVATIONS[spec.activation]
        floats = mlp.plan_floats(self.plan)
        self._state = aligned((threads, 3, floats))  # parameters and Adam's two moments, a copy per thread
        self._gradients = aligned((2, threads, floats + 16))
        self._scratch = aligned((threads, mlp.learn_scratch(self.plan)))
        self._meeting = aligned(8, np.int64)
        self._step = 0
        self._rng = np.random.default_rng([seed, 0xBA7C4])
        self._pool = ThreadPoolExecutor(max(1, threads - 1), thread_name_prefix="dshq-learn")
        self.load(spec.initial(np.random.default_rng([seed, 0x1417])))

    @property
    def params(self) -> np.ndarray:
        """The padded parameters, as rollouts read them; they change with every update."""
        return self._state[0, 0]

    def update(self, samples: Samples, units: np.ndarray, hyper: Hyper) -> dict[str, float]:
        """See `learners.Learner.update`."""
        order, bounds = learners.plan_minibatches(self._rng, units, hyper)
        mean, deviation, explained = moments(units, samples.advantage, samples.value, samples.returns)
        mean, scale = (mean, 1 / (deviation + 1e-8)) if hyper.normalize_advantages else (0.0, 1.0)
        self._meeting[0] = 0
        f32 = np.float32
        settings = (f32(hyper.clip_epsilon), hyper.clip_value, f32(hyper.value_coef), f32(hyper.entropy_coef))
        adam = (
            float(hyper.learning_rate),
            learners.ADAM_EPSILON,
            float(hyper.max_grad_norm),
            float(hyper.target_kl * learners.KL_MARGIN),
            self._step,
        )
        sums = np.zeros((self.threads, mlp.SUMS + 4))

        def work(thread: int) -> None:
            mlp.learn(
                thread,
                self.threads,
                self._meeting.ctypes.data,
                self.plan,
                self.activation,
                self._state,
                self._gradients,
                self._scratch,
                samples.addresses(),
                order,
                bounds,
                (f32(mean), f32(scale)),
                settings,
                adam,
                sums,
            )

        others = [self._pool.submit(work, thread) for thread in range(1, self.threads)]
        work(0)
        for other in others:
            other.result()
        count, norms, applied, skipped = sums[0, mlp.SUMS :]
        self._step += int(applied)
        self.skipped += int(skipped)
        count = sums[:, mlp.SUMS].sum()
        metrics = {
            name: float(total / count)
            for name, total in zip(SUM_NAMES, sums[:, : mlp.SUMS].sum(0), strict=True)
            if applied
        }
        if applied:
            metrics["grad_norm"] = float(norms / applied)
        return {**metrics, "explained_variance": explained}

    def blob(self) -> np.ndarray:
        """See `learners.Learner.blob`."""
        return mlp.unpack(self.plan, self._state[0, 0])

    def load(self, blob: np.ndarray) -> None:
        """See `learners.Learner.load`."""
        self._state[:] = 0
        self._state[:, 0] = mlp.pack(self.plan, blob)
        self._step = 0

    def state(self) -> dict[str, np.ndarray]:
        """See `learners.Learner.state`."""
        return {
            "adam_m": mlp.unpack(self.plan, self._state[0, 1]),
            "adam_v": mlp.unpack(self.plan, self._state[0, 2]),
            "adam_step": np.array(self._step, np.int64),
            "generator_update": learners.pack_generator(self._rng),
        }

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """See `learners.Learner.restore`."""
        self._state[:, 1] = mlp.pack(self.plan, state["adam_m"])
        self._state[:, 2] = mlp.pack(self.plan, state["adam_v"])
        self._step = int(state["adam_step"])
        self._rng = learners.unpack_generator(state["generator_update"])
