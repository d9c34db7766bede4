"""Seeds of a run's many generators, made from the one seed of the run. Runs of neighbouring seeds share none."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

GAMES, EVALUATION, WEIGHTS, ACTIONS, LATENTS, SEQUENCES, RANDOM = range(7)
"""What a generator draws."""


def apart(*parts: int) -> int:
    """u32, a seed for one generator, of whole numbers from 0: the run's seed, then what tells it from the run's others
    (numpy's SeedSequence). One of them is the version that the run continues from, where no file has the generator:
    else a run that is stopped and started again would draw the same numbers again.
    """
    return int(np.random.SeedSequence(parts).generate_state(1)[0])


def of_games(seed: int, n: int) -> NDArray[np.uint32]:
    """Seeds of `n` games, u32 `[n]`. Where games are seeded `seed, seed + 1, ...`, runs of neighbouring seeds play the
    same ones, and an interval over such runs is too narrow.
    """
    return np.random.default_rng([seed, GAMES]).integers(0, 1 << 32, n, np.uint32)
