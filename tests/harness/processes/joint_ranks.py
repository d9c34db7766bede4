"""A process of torchrun's, for test_joint_run.py: FOLDER ARGUMENTS... Rank 0 is `dshq ARGUMENTS`."""

import sys
from pathlib import Path

import numpy as np

from dshq_widget.algorithms.ppo.joint.follow import follow
from dshq_widget.algorithms.torchrun import Place
from dshq_widget.cli import main


def run(folder: Path, arguments: list[str]) -> int:
    place = Place.of()
    if place.rank == 0:
        return main.main(arguments)
    np.save(folder / f"rank{place.rank}.npy", follow(place).blob())
    return 0


if __name__ == "__main__":
    sys.exit(run(Path(sys.argv[1]), sys.argv[2:]))
