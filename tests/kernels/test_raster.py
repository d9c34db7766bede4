"""Frames of 72 x 80 in four shades: against an independent drawing, and the GPU's bits against the CPU's."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dshq_kernels.play import raster, raster_cuda
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drills import drills
from tests.harness.counts import times
from tests.harness.frames import frames
from tests.harness.scripts import printed
from tests.harness.simulator import simulated

CIRCLE, BOX, LINE, RING, TAG = range(5)
PIXELS = np.array([0, 2, 4, 6], np.uint8)
TONES = np.array([0, 1, 2, 3, raster.CLEAR, 2 | raster.NOSED], np.uint8)
NOSED = 5
WORLD = -4, -3.6, 4, 3.6

IN_THE_SIMULATOR = """
import sys
import numpy as np
from numba import cuda
from dshq_kernels.play import raster, raster_cuda
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drills import drills
from tests.harness.frames import frames
for name in sys.argv[1:]:
    drill = compile_drill(drills[name])
    game, twin = drill.device_game("cuda"), drill.game()
    state, tiles = game.new(16, 5, practice=True), twin.new(1, 5, practice=True)
    few = cuda.to_device(game.words(state).T[:, :1].copy())
    tones = raster.shades(drill.spec), raster.view(drill.spec.world)
    out = cuda.to_device(np.full((1, 1, raster.HEIGHT, raster.ROW_BYTES), 0xA5, np.uint8))
    room = np.zeros((drill.spec.scene_max, 12, 1), np.float32), np.zeros(1, np.int32)
    raster_cuda.render_into(out, game, few, *map(cuda.to_device, (*tones, *room)))
    wanted = frames(drill, tiles)[:1]
    assert np.array_equal(out.copy_to_host(), wanted) and len(np.unique(wanted)) > 2, name
    print(name)
"""
SCENES_IN_THE_SIMULATOR = """
import sys, warnings
import numpy as np
from numba import cuda
from dshq_kernels.play import raster, raster_cuda
warnings.simplefilter("ignore", RuntimeWarning)  # of NaN and infinity
given = np.load(sys.argv[1])
shapes, counts = np.ascontiguousarray(given["shapes"].transpose(1, 2, 0)), given["counts"]
out = cuda.to_device(np.full((len(counts), 1, raster.HEIGHT, raster.ROW_BYTES), 0xA5, np.uint8))
arguments = map(cuda.to_device, (shapes, counts, given["tones"], given["frame"]))
raster_cuda.draw_all[(len(counts), raster.HEIGHT // raster_cuda.BAND), raster_cuda.BLOCK](*arguments, out)
np.save(sys.argv[2], out.copy_to_host())
"""


def unpacked(frame: np.ndarray) -> np.ndarray:
    """u8 [72, 20] -> shades [72, 80]."""
    return ((frame[:, :, None] >> PIXELS) & 3).reshape(raster.HEIGHT, raster.WIDTH)


def shape(kind: int, colour: int, *values: float, alpha: float = 1.0) -> list[float]:
    return [kind, colour, *values, *[0.0] * (7 - len(values)), alpha, 0, 0]


def packed(shapes: np.ndarray, frame: np.ndarray) -> np.ndarray:
    """What the CPU draws over a slot that held something else: u8 [72, 20]."""
    out = np.full((raster.HEIGHT, raster.ROW_BYTES), 0xA5, np.uint8)
    raster.draw(shapes, TONES, frame, out)
    return out


def drawn(*shapes: list[float], world: tuple[float, ...] = WORLD) -> np.ndarray:
    return unpacked(packed(np.array(shapes, np.float32), raster.view(world)))


def everywhere(shapes: np.ndarray, frame: np.ndarray) -> np.ndarray:
    """The definition: every shape tested at every pixel, each operation rounded to float32 -> shades [72, 80]."""
    one, (left, top, pixel) = np.float32(1), frame
    half = pixel * np.float32(0.5)
    px = left + (np.arange(80, dtype=np.float32) + np.float32(0.5)) * pixel
    py = top - (np.arange(72, dtype=np.float32)[:, None] + np.float32(0.5)) * pixel
    found = np.zeros((72, 80), np.uint8)

    def wide(a: np.float32) -> np.float32:
        return a if a > half else half

    for kind, colour, x, y, a, b, c, s, _, alpha, *_ in shapes:
        dx, dy = px - x, py - y
        away = dx * dx + dy * dy
        if kind == CIRCLE:
            hit = away <= wide(a) * wide(a)
        elif kind == BOX:
            along, across = dx * c + dy * s, np.abs(dy * c - dx * s)
            hit = (np.abs(along) <= wide(a)) & (across <= wide(b))
            if int(colour) == NOSED:
                reach, breadth = wide(a) * np.float32(raster.REACH), wide(wide(b) * np.float32(raster.BREADTH))
                nose = ~hit & (along >= 0) & (along <= reach) & (across <= breadth) & (alpha >= 0.5)
                found[nose] = raster.BALL - TONES[NOSED] % raster.NOSED
        elif kind == LINE:
            ax, ay, share = a - x, b - y, np.zeros_like(away)
            if ax * ax + ay * ay > 0:
                share = (dx * ax + dy * ay) / (ax * ax + ay * ay)
            share = np.where(share > 0, np.where(share < one, share, one), 0 * one)
            hit = (dx - share * ax) ** 2 + (dy - share * ay) ** 2 <= wide(c) * wide(c)
        else:
            inner, outer = a - wide(b), a + wide(b)
            inner = inner if inner > 0 else 0 * one
            hit = (away >= inner * inner) & (away <= outer * outer) & (kind == RING and c >= 0.5)
        if TONES[int(colour)] != raster.CLEAR and alpha >= 0.5:
            found[hit] = TONES[int(colour)] & 3
    return found


def naive(test, world=WORLD) -> np.ndarray:
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
    for one, test in cases:
        found, wanted = drawn(one), naive(test)
        assert wanted.sum() > 20 and set(np.unique(found)) == {0, int(one[1])}
        assert np.array_equal(found == one[1], wanted)


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


def test_a_box_of_a_pointed_paint_has_a_nose_where_it_looks():
    angle = 2.3
    c, s = np.cos(angle), np.sin(angle)

    def in_box(x, y):
        along, across = (x - 0.53) * c + (y + 0.72) * s, np.abs((y + 0.72) * c - (x - 0.53) * s)
        return (np.abs(along) <= 0.61) & (across <= 0.47)

    def in_nose(x, y):
        along, across = (x - 0.53) * c + (y + 0.72) * s, np.abs((y + 0.72) * c - (x - 0.53) * s)
        return (along >= 0) & (along <= 2.135) & (across <= 0.235) & ~in_box(x, y)

    one = 0.53, -0.72, 0.61, 0.47, c, s
    found = drawn(shape(BOX, NOSED, *one))
    assert np.array_equal(found == 2, naive(in_box)), "the body in its own shade"
    assert np.array_equal(found == 1, naive(in_nose)) and set(np.unique(found)) == {0, 1, 2}, "the nose in the other's"
    assert (drawn(shape(CIRCLE, NOSED, 0, 0, 1)) == drawn(shape(CIRCLE, 2, 0, 0, 1))).all(), "only boxes look ahead"
    thin = drawn(shape(BOX, NOSED, 0.02, 0.02, 0.5, 0.01, 1, 0))
    assert (thin > 0).sum() == 23 and (thin == 1).sum() == 13, "a nose is a pixel wide at least"
    assert (drawn(shape(BOX, NOSED, *one), shape(CIRCLE, 3, 0.53 + 1.8 * c, -0.72 + 1.8 * s, 0.4)) == 3).sum() > 40


@pytest.mark.parametrize("name", ["approach", "ball"])
def test_a_frame_says_where_a_player_looks(name):
    """Of sixteen headings no two look alike, wherever the player stands, the ball away from it."""
    drill = compile_drill(drills[name])
    tiles = drill.game().new(1, 0)
    angles = np.arange(16) * np.pi / 8
    rng = np.random.default_rng(0)
    for _ in range(20):
        tiles["ball_px"], tiles["ball_py"] = 3.8, 2.8
        tiles["p_px"], tiles["p_py"] = -3.7, -2.8
        tiles["p_px"][0, 0], tiles["p_py"][0, 0] = rng.uniform(-2.5, 2.5), rng.uniform(-2.0, 2.0)
        tiles["p_cos"][0, 0], tiles["p_sin"][0, 0] = np.cos(angles), np.sin(angles)
        seen = np.array([unpacked(frame[0]) for frame in frames(drill, tiles)])
        apart = (seen[:, None] != seen[None]).sum((2, 3))
        assert (apart[~np.eye(16, dtype=bool)] >= 16).all(), apart


def test_the_world_is_whole_and_in_the_middle_whatever_its_shape():
    for world in ((0, 0, 10, 2), (0, 0, 2, 10), (-1, -1, 1, 1)):
        middle = (world[0] + world[2]) / 2, (world[1] + world[3]) / 2
        half = (world[2] - world[0]) / 2, (world[3] - world[1]) / 2
        found = np.argwhere(drawn(shape(BOX, 1, *middle, *half, 1, 0), world=world))
        assert (found.min(0) + found.max(0) == (71, 79)).all()
        assert (found.max(0) == (71, 79)).any()


@pytest.mark.parametrize("name", list(drills))
def test_every_drill_is_seen(name):
    drill = compile_drill(drills[name])
    seen = frames(drill, drill.game().new(1, 3, practice=True))
    assert all(len(np.unique(unpacked(frame[0]))) >= 2 for frame in seen)


NUMBERS = st.one_of(
    *(st.floats(-most, most) for most in (6, 1e-3, 1e7)),
    st.sampled_from([-0.0, 1e-30, 0.5, 6553.6, 1e6, 1e19, -3e38, np.inf, -np.inf, np.nan]),
)


@st.composite
def shapes_of_any_kind(draw: st.DrawFn) -> list[float]:
    kind, colour = draw(st.tuples(st.integers(0, 4), st.integers(0, 5)))
    values = [draw(NUMBERS) for _ in range(6)]
    if kind == BOX and draw(st.booleans()):
        angle = draw(st.floats(-4, 4))
        values[4:] = [np.cos(angle), np.sin(angle)]
    return shape(kind, colour, *values, alpha=draw(st.sampled_from([1.0, 0.5, 0.49, np.nan])))


WORLDS = st.sampled_from(
    [WORLD, (0, 0, 10, 2), (1e4, 0, 1e4 + 1, 1), (-1e-9, 0, 1e-9, 1e-9), (0, 0, 1e-22, 0), (0, 0, 1e14, 1)]
)


@settings(max_examples=times(400, 60), deadline=None)
@given(st.lists(shapes_of_any_kind(), min_size=1, max_size=4), WORLDS)
@example([shape(CIRCLE, 3, -np.inf, 0, np.inf)], WORLD)  # infinitely far and as large covers everything
@example([shape(CIRCLE, 3, 0, 0, 0)], (0, 0, 1e-22, 0))  # squares of these distances are all 0
def test_no_covered_pixel_is_left_out(shapes, world):
    """Where a shape may lie is only ever too large: what is drawn is what testing everything everywhere gives."""
    scene, frame = np.array(shapes, np.float32), raster.view(world)
    with np.errstate(all="ignore"):
        wanted = everywhere(scene, frame)
    assert np.array_equal(unpacked(packed(scene, frame)), wanted)


def test_no_covered_pixel_of_an_ordinary_shape_is_left_out():
    rng, frame = np.random.default_rng(1), raster.view(WORLD)
    for _ in range(times(2000, 300)):
        angle, size = rng.uniform(0, 7), rng.uniform(0, 2, 3)
        rest = {BOX: [*size[:2], np.cos(angle), np.sin(angle)], LINE: [*rng.uniform(-5, 5, 2), size[2] / 4]}
        kind = int(rng.integers(4))
        colour, place = int(rng.choice([3, NOSED])), rng.uniform(-5, 5, 2)
        one = np.array([shape(kind, colour, *place, *rest.get(kind, [*size[:2], 1.0]))], np.float32)
        assert np.array_equal(unpacked(packed(one, frame)), everywhere(one, frame)), one


@pytest.mark.parametrize(
    "names", [["approach"], pytest.param(["ball", "sumo", "chase"], marks=pytest.mark.slow)], ids=len
)
def test_the_gpus_frames_are_the_cpus_in_the_simulator(names):
    assert simulated(IN_THE_SIMULATOR, *names).split() == names


@pytest.mark.slow
def test_the_gpu_draws_hostile_scenes_as_the_cpu_does_in_the_simulator(tmp_path):
    """No shapes, more than a block prepares at once, and what hypothesis thinks of, into a slot that was not empty."""
    rng, scenes = np.random.default_rng(3), [[]]

    @settings(max_examples=3, derandomize=True, database=None, deadline=None)
    @given(st.lists(shapes_of_any_kind(), min_size=16, max_size=48))
    def collect(scene):
        scenes.append(scene)

    collect()
    places, kinds = (
        rng.uniform(-4, 4, (2 * raster_cuda.CHUNK + 1, 2)),
        rng.integers(0, [4, 6], (2 * raster_cuda.CHUNK + 1, 2)),
    )
    scenes.append([shape(*kind, *place, 0.3, 0.2, 1.0) for kind, place in zip(kinds, places, strict=True)])
    counts = np.array([len(scene) for scene in scenes], np.int32)
    shapes = np.full((len(scenes), counts.max(), 12), np.nan, np.float32)
    for k, scene in enumerate(scenes):
        shapes[k, : len(scene)] = np.reshape(scene, (-1, 12))
    frame = raster.view(WORLD)
    np.savez(tmp_path / "scenes.npz", shapes=shapes, counts=counts, tones=TONES, frame=frame)
    simulated(SCENES_IN_THE_SIMULATOR, tmp_path / "scenes.npz", tmp_path / "frames.npy")
    found = np.load(tmp_path / "frames.npy")
    wanted = [packed(shapes[k, :count], frame) for k, count in enumerate(counts)]
    assert np.array_equal(found[:, 0], wanted) and not wanted[0].any() and wanted[-1].any()


@pytest.mark.gpu
@pytest.mark.parametrize("name", list(drills))
def test_the_gpus_frames_are_the_cpus(name):
    printed(IN_THE_SIMULATOR, name)
