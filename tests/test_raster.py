"""Frames of 72 x 80 in four shades: against an independent drawing, and the GPU's bits against the CPU's."""

import os
import subprocess
import sys

import numpy as np
import pytest

from dshq_kernels import raster
from dshq_widget.drill import compile_drill
from dshq_widget.drills import drills

CIRCLE, BOX, LINE, RING, TAG = range(5)
PIXELS = np.array([0, 2, 4, 6], np.uint8)

IN_THE_SIMULATOR = """
import sys
import numpy as np
from numba import cuda
from dshq_kernels import raster
from dshq_widget.drill import compile_drill
from dshq_widget.drills import drills
for name in sys.argv[1:]:
    drill = compile_drill(drills[name])
    game, twin = drill.cuda_game(), drill.game()
    state, tiles = game.new(16, 5, practice=True), twin.new(1, 5, practice=True)
    few = cuda.to_device(game.words(state).T[:, :2].copy())
    for side in range(drill.spec["sides"]):
        tones = raster.shades(drill.spec, side), raster.view(drill.spec["world"])
        out = cuda.to_device(np.zeros((2, 1, raster.HEIGHT, raster.ROW_BYTES), np.uint8))
        raster.render_into(out, game, few, *map(cuda.to_device, tones))
        wanted = raster.frames(twin, tiles, drill.spec, side)[:2]
        assert np.array_equal(out.copy_to_host(), wanted) and len(np.unique(wanted)) > 2, name
    print(name)
"""


def unpacked(frame: np.ndarray) -> np.ndarray:
    """u8 [72, 20] -> shades [72, 80]."""
    return ((frame[:, :, None] >> PIXELS) & 3).reshape(raster.HEIGHT, raster.WIDTH)


def shape(kind: int, colour: int, *values: float, alpha: float = 1.0) -> list[float]:
    return [kind, colour, *values, *[0.0] * (7 - len(values)), alpha, 0, 0]


def drawn(*shapes: list[float], world: tuple[float, ...] = (-4, -3.6, 4, 3.6)) -> np.ndarray:
    out = np.zeros((raster.HEIGHT, raster.ROW_BYTES), np.uint8)
    tones = np.array([0, 1, 2, 3, raster.CLEAR], np.uint8)
    raster.draw(np.array(shapes, np.float32), tones, raster.view(world), out)
    return unpacked(out)


def naive(test, world=(-4, -3.6, 4, 3.6)) -> np.ndarray:
    """Where `test(x, y)` holds at a pixel's centre, in float64."""
    pixel = max((world[2] - world[0]) / 80, (world[3] - world[1]) / 72)
    x = (world[0] + world[2]) / 2 + (np.arange(80) + 0.5 - 40) * pixel
    y = (world[1] + world[3]) / 2 - (np.arange(72) + 0.5 - 36) * pixel
    return test(*np.meshgrid(x, y))


def test_each_kind_of_shape_is_where_geometry_says():
    angle = 0.61
    c, s = np.cos(angle), np.sin(angle)

    def in_box(x, y):
        dx, dy = x - 1.03, y + 0.52
        return (np.abs(dx * c + dy * s) <= 1.21) & (np.abs(dy * c - dx * s) <= 0.47)

    def on_line(x, y):
        share = np.clip(((x + 2.02) * 3.01 + (y - 1.01) * 1.53) / (3.01**2 + 1.53**2), 0, 1)
        return np.hypot(x + 2.02 - share * 3.01, y - 1.01 - share * 1.53) <= 0.23

    cases = [
        (shape(CIRCLE, 3, 0.51, -0.33, 1.27), lambda x, y: np.hypot(x - 0.51, y + 0.33) <= 1.27),
        (shape(BOX, 2, 1.03, -0.52, 1.21, 0.47, c, s), in_box),
        (shape(LINE, 1, -2.02, 1.01, 0.99, 2.54, 0.23), on_line),
        (shape(RING, 2, 0.13, 0.07, 2.01, 0.31, 1.0), lambda x, y: np.abs(np.hypot(x - 0.13, y - 0.07) - 2.01) <= 0.31),
    ]
    for given, test in cases:
        found, wanted = drawn(given), naive(test)
        assert wanted.sum() > 20 and set(np.unique(found)) == {0, int(given[1])}
        assert np.array_equal(found == given[1], wanted)


def test_what_comes_later_covers_and_what_is_thin_is_still_seen():
    both = drawn(shape(BOX, 1, 0, 0, 2, 2, 1, 0), shape(CIRCLE, 3, 0, 0, 0.5))
    assert both[36, 40] == 3 and both[36, 25] == 1
    assert (drawn(shape(LINE, 1, -3, 0.02, 3, 0.02, 0.001)) == 1).sum() >= 59, "a pixel wide where it is thinner"
    assert (drawn(shape(CIRCLE, 2, 0.02, 0.02, 0.0)) == 2).sum() >= 1
    for unseen in (
        shape(CIRCLE, 4, 0, 0, 2),
        shape(CIRCLE, 3, 0, 0, 2, alpha=0.3),
        shape(TAG, 3, 0, 0, 2),
        shape(RING, 3, 0, 0, 2, 0.2, 0.3),
    ):
        assert not drawn(unseen).any()


def test_the_world_is_whole_and_in_the_middle_whatever_its_shape():
    for world in ((0, 0, 10, 2), (0, 0, 2, 10), (-1, -1, 1, 1)):
        middle = (world[0] + world[2]) / 2, (world[1] + world[3]) / 2
        half = (world[2] - world[0]) / 2, (world[3] - world[1]) / 2
        found = np.argwhere(drawn(shape(BOX, 1, *middle, *half, 1, 0), world=world))
        assert (found.min(0) + found.max(0) == (71, 79)).all()
        assert (found.max(0) == (71, 79)).any()


def test_a_side_sees_itself_in_its_own_shade():
    drill = compile_drill(drills["ball"])
    tiles = drill.game().new(1, 3)
    one, other = (unpacked(raster.frames(drill.game(), tiles, drill.spec, side)[0, 0]) for side in (0, 1))
    assert (one == 2).sum() > 4 and np.array_equal(one == 3, other == 3)
    assert one[:, :40][one[:, :40] == 2].size and other[:, 40:][other[:, 40:] == 2].size, "blue is left, orange right"


@pytest.mark.parametrize("name", list(drills))
def test_every_drill_is_seen(name):
    drill = compile_drill(drills[name])
    frames = raster.frames(drill.game(), drill.game().new(1, 3, practice=True), drill.spec)
    assert frames.shape == (16, 1, 72, 20) and frames.dtype == np.uint8
    assert all(len(np.unique(unpacked(frame[0]))) >= 2 for frame in frames)


def test_the_gpus_frames_are_the_cpus_in_the_simulator():
    run = subprocess.run(
        [sys.executable, "-c", IN_THE_SIMULATOR, "ball"],
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert run.returncode == 0 and run.stdout.split() == ["ball"], run.stderr


@pytest.mark.gpu
@pytest.mark.parametrize("name", list(drills))
def test_the_gpus_frames_are_the_cpus(name):
    run = subprocess.run([sys.executable, "-c", IN_THE_SIMULATOR, name], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
