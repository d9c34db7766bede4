"""One of two joint learners, for test_joint_run.py (RANK FOLDER): learns once; then rank 1 is gone, rank 0 says so."""

import os
import sys
import time
from pathlib import Path

import numpy as np
import torch

from dshq_widget.algorithms.ppo.learners.joint import JointPPO, join
from dshq_widget.algorithms.ppo.learners.learner import Hyper
from dshq_widget.gpu.rollout import Rollout
from dshq_widget.policy.network import PolicySpec


def rollout_of(arrays: dict[str, np.ndarray], rows: slice) -> Rollout:
    """The rows of a rollout kept as arrays `[T, R, ...]`, as a rollout of its own."""
    last = {"last_value": arrays["last_value"][rows], "stats": arrays["stats"]}
    parts = {name: value[:, rows] for name, value in arrays.items() if name not in last}
    return Rollout(**{name: torch.from_numpy(np.ascontiguousarray(value)) for name, value in {**parts, **last}.items()})


def main(rank: int, folder: Path) -> None:
    given = dict(np.load(folder / "rollout.npz"))
    cut = int(given.pop("cut"))
    layers = tuple(int(n) for n in given.pop("layers"))
    join(f"file://{folder}/meet", rank, 2, seconds=20)
    learner = JointPPO(PolicySpec(layers), seed=rank)  # other weights on purpose: rank 0's are taken
    hyper = Hyper(minibatch_size=384, epochs=2, minibatch_order="sequential", learning_rate=1e-3, target_kl=0.5)
    metrics = learner.update(rollout_of(given, slice(0, cut) if rank == 0 else slice(cut, None)), np.arange(0), hyper)
    np.savez(folder / f"learned{rank}.npz", blob=learner.blob(), **metrics)
    if rank == 1:
        sys.stdout.flush()
        os._exit(0)
    begin = time.monotonic()
    try:
        learner.update(rollout_of(given, slice(0, cut)), np.arange(0), hyper)
    except RuntimeError as error:
        print(f"{time.monotonic() - begin:.1f} {error}")
        sys.stdout.flush()
        os._exit(0)  # as whoever is alone ends: no farewell that nobody answers


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
