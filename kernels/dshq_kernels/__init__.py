"""Kernels of DrillSergeantHQ: the rules compiler and its back ends, the generator, and the network on 16-lane tiles.

Needs only numpy and numba; does not use torch, processes or notebooks.
"""

from dshq_kernels.simd.numba_settings import from_variables_alone

from_variables_alone()
