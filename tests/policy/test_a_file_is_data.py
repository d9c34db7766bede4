"""A policy file names only what is there already: any file plays, or is refused in one sentence."""

import json
import sys
import types

import gymnasium as gym
import numpy as np
import pytest

from dshq_kernels.network import layers as networks
from dshq_widget import drills
from dshq_widget.cli import main
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.gyms import named
from dshq_widget.gyms.making import described
from dshq_widget.gyms.reading import readable
from dshq_widget.policy import checkpoint, loading
from dshq_widget.policy.action_spaces import GymError
from dshq_widget.policy.checkpoint import Checkpoint, CheckpointError
from dshq_widget.policy.network import PolicySpec
from dshq_widget.training.evaluation import evaluate
from dshq_widget.training.trainer import Trainer
from tests.harness.games.policy_files import environment_file, rebuilt

MODULE = "open('ran', 'w').close()\nfrom tests.harness.games import gym_worlds\n"


@pytest.fixture
def beside(tmp_path, monkeypatch):
    """The working folder, with a file whose environment is in the module beside it."""
    (tmp_path / "helper.py").write_text(MODULE)
    checkpoint.save(tmp_path / "bot.dshq", environment_file("gym:helper:Easy-v0"))
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    sys.modules.pop("helper", None)


@pytest.mark.parametrize(
    "open_it",
    [
        lambda: evaluate("bot.dshq", matches=1),
        lambda: Trainer("bot.dshq"),
        lambda: main.main(["evaluate", "bot.dshq", "--matches", "1"]) == 2 or pytest.fail("not refused"),
        lambda: main.main(["train", "bot.dshq", "--updates", "1"]) == 2 or pytest.fail("not refused"),
        lambda: main.main(["play", "bot.dshq", "--no-browser"]) == 2 or pytest.fail("not refused"),
        lambda: main.main(["export", "bot.dshq", "--html", "x.html"]) == 2 or pytest.fail("not refused"),
    ],
    ids=["evaluate()", "Trainer", "evaluate", "train", "play", "export"],
)
def test_a_file_imports_no_module(beside, open_it, capsys):
    before = list(sys.path)
    try:
        open_it()
    except CheckpointError as error:
        said = str(error)
    else:
        said = capsys.readouterr().err
    assert "helper" in said and "gym:helper:Easy-v0" in said
    assert not (beside / "ran").exists() and "helper" not in sys.modules
    assert sys.path == before, "a file's id must not make modules of the working folder importable"


def test_a_person_may_name_the_module(beside, capsys):
    """The same id, given by hand, is an order: the module is one's own."""
    assert main.main(["evaluate", "bot.dshq", "--drill", "gym:helper:Easy-v0", "--matches", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["episodes"] == 1
    assert (beside / "ran").exists()


NUMBERS = [10**400, -(10**400), 2**63, float("inf"), -float("inf"), float("nan"), [10**400], {"x": float("inf")}]


@pytest.mark.parametrize("value", NUMBERS, ids=str)
@pytest.mark.parametrize("key", ["config", "metrics", "algorithm_settings", "environment"])
def test_numbers_that_cannot_be_computed_with_are_refused(key, value):
    content = checkpoint.encode(environment_file("gym:CartPole-v1"))

    def change(header):
        found = json.loads(header["__metadata__"].get(key, "{}"))
        header["__metadata__"][key] = json.dumps({**found, "gamma": value})

    with pytest.raises(CheckpointError, match="not finite|too large"):
        checkpoint.decode(rebuilt(content, change))


@pytest.mark.parametrize("text", ["\ud800", "x\udfff"], ids=ascii)
@pytest.mark.parametrize("key", ["config", "metrics", "algorithm_settings", "environment", "note"])
def test_a_text_that_cannot_be_sent_on_is_refused(key, text):
    """A widget that had loaded such a file could send its pages nothing any more."""
    content = checkpoint.encode(environment_file("gym:CartPole-v1"))

    def change(header):
        metadata = header["__metadata__"]
        metadata[key] = text if key == "note" else json.dumps({**json.loads(metadata.get(key, "{}")), text: 1})

    with pytest.raises(CheckpointError, match="cannot be used: a text has half of a character"):
        checkpoint.decode(rebuilt(content, change))


GOOD_ACTIONS = {"kind": "choice", "sizes": [2], "start": 0, "shape": [], "low": [], "high": []}


@pytest.mark.parametrize(
    "change",
    [
        {"sizes": [float("inf")]},
        {"sizes": [0]},
        {"sizes": [True, 2]},
        {"sizes": ["2"]},
        {"sizes": 2},
        {"sizes": [3]},
        {"start": 1e400},
        {"start": "0"},
        {"kind": "picture"},
        {"kind": "box"},
        {"kind": "choices", "shape": [7]},
        {"kind": "box", "sizes": [], "shape": [1], "low": ["nan"], "high": [1]},
        {"kind": "box", "sizes": [], "shape": [1], "low": [2], "high": [1]},
        {"kind": "box", "sizes": [], "shape": [1 << 40], "low": [0], "high": [1]},
        {"low": None},
    ],
    ids=str,
)
def test_actions_that_are_none_are_refused(change):
    content = checkpoint.encode(environment_file("gym:CartPole-v1"))

    def put(header):
        found = json.loads(header["__metadata__"]["environment"])
        header["__metadata__"]["environment"] = json.dumps({**found, "actions": GOOD_ACTIONS | change})

    with pytest.raises(CheckpointError):
        checkpoint.decode(rebuilt(content, put))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("environment", {"id": "CartPole-v1"}),
        ("environment", {"id": "Other-v1", "actions": GOOD_ACTIONS, "pixels": []}),
        ("environment", {"id": 3, "actions": GOOD_ACTIONS, "pixels": []}),
        ("environment", {"id": "CartPole-v1", "actions": GOOD_ACTIONS, "pixels": [1, 2, 3]}),
        *(
            ("environment", {"id": "CartPole-v1", "actions": GOOD_ACTIONS, "pixels": [], "pictures": pictures})
            for pictures in ([[1, 6, 6]], [[1, 6]], [[1, 6, 6.0]], [1, 6, 6], [None], {}, 3, "666", [[1, 6, -6]])
        ),
        ("config", {"action_repeat": "many"}),
        ("config", {"action_distribution": 3}),
    ],
)
def test_a_description_that_fits_nothing_is_refused(key, value):
    content = checkpoint.encode(environment_file("gym:CartPole-v1"))
    bad = rebuilt(content, lambda header: header["__metadata__"].update({key: json.dumps(value)}))
    with pytest.raises(CheckpointError):
        loading.as_policy(checkpoint.decode(bad))


def test_a_tensor_of_no_floats_and_an_endless_shape_is_refused():
    content = checkpoint.encode(environment_file("gym:CartPole-v1"))

    def change(header):
        end = max(entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__")
        header["train.x"] = {"dtype": "F32", "shape": [0, 1 << 28, 1 << 28, 1 << 28], "data_offsets": [end, end]}

    with pytest.raises(CheckpointError):
        checkpoint.decode(rebuilt(content, change))


COSTLY = (28, -2, -2, -1, -30000, -256, 1, 31)
"""240,083 floats, and minutes for a block of the league."""


def test_work_is_counted_and_bounded():
    for cells, planes, maps, sweeps in ((4, 1, 1, 1), (49, 2, 4, 12)):
        side = int(cells**0.5)
        grid = networks.Grid(side, side, planes, maps, sweeps)
        dense = ((planes + 1) * cells, *networks.written(grid), 8, 5)
        assert networks.work(dense) >= cells * maps * (2 * planes + sweeps)
    assert networks.work((28, 64, 64, 31)) == 28 * 64 + 64 * 64 + 64 * 31 + 64 + 64 + 31
    for name in drills.drills:
        spec = compile_drill(drills.get(name)).spec
        layers = (spec.n_obs, *spec.front, 1024, 1024, 1024, 1024, spec.n_actions + 1)
        assert networks.work(layers) < networks.MOST_WORK / 5, "any network of a drill of the package has room"
    assert networks.work(COSTLY) > networks.MOST_WORK
    floats = networks_floats(COSTLY)
    forged = Checkpoint("ball", "0" * 16, COSTLY, "tanh", np.zeros(floats, np.float32))
    with pytest.raises(CheckpointError, match="operations"):
        checkpoint.encode(forged)


def test_a_grid_of_few_multiplications_and_many_sweeps_is_no_network():
    """In numpy a decision of the first took 11 s, though it is a tenth of the multiplications that are allowed."""
    long = (28, -7, -2, -1, -1, -65536, 1, 31)
    floats = 2 + 2 + 4 + 1 + 31 + 31
    for layers in (long, (28, -7, -2, -1, -1, -networks.MOST_SWEEPS - 1, 1, 31)):
        assert not networks.is_network(layers)
        forged = Checkpoint("ball", "0" * 16, layers, "tanh", np.zeros(floats, np.float32))
        with pytest.raises(CheckpointError, match="not one of a network"):
            checkpoint.encode(forged)
    with pytest.raises(ValueError, match="at most 256 sweeps; got 257"):
        networks.Grid(7, 2, 1, 1, 257)
    assert networks.is_network((28, -7, -2, -1, -1, -networks.MOST_SWEEPS, 1, 31))


@pytest.mark.parametrize(
    "layers",
    [
        (32768, -128, -128, -1, -1, -networks.MOST_SWEEPS, 1, 31),  # 4 million cells in all sweeps: a minute
        (28, -1, -1200, -1, -2, -1, -200, -1, 1, 1201),  # 2 kB, of which numpy made a table of 4.5 GB
        (28, -30, -40, -1, -2, -1, -50000, -1, 1, 1201),  # 400 kB: 536 GB
        (2, -50000, -1, -1, -2, -1, -1, -1, 1, 50001),
    ],
)
def test_a_layer_in_front_that_costs_memory_or_time_beyond_its_multiplications_is_no_network(layers):
    assert not networks.is_network(layers)
    forged = Checkpoint("territory", "0" * 16, layers, "relu", np.zeros(9, np.float32))
    with pytest.raises(CheckpointError, match="not one of a network"):
        checkpoint.encode(forged)


def networks_floats(layers):
    return sum(n * m + m for n, m in networks.shapes(layers))


@pytest.mark.parametrize("odd", [np.zeros(3, np.int64), np.zeros(0, np.int64), np.array(1e300), np.array(-1)], ids=str)
def test_updates_that_are_no_count_are_refused(odd):
    saved = environment_file("gym:CartPole-v1")
    with pytest.raises(CheckpointError, match="updates"):
        checkpoint.encode(Checkpoint(**{**vars(saved), "state": {"train.updates": odd}}))


@pytest.mark.parametrize("change", [{"version": 10**18 - 1}, {"step": 10**18 - 1}, {"updates": 10**18 - 1}], ids=str)
def test_a_run_counts_on_from_no_file_whose_counts_would_not_fit_into_the_next(change):
    """It trained, and could be saved nowhere: *the policy is lost*."""
    more = dict(change)
    more["state"] = {"train.updates": np.array(more.pop("updates", 0), np.int64)}
    with Trainer("cartpole", hidden_sizes=(8,)) as trainer:
        made = checkpoint.decode(trainer.policy_file())
        saved = checkpoint.decode(checkpoint.encode(Checkpoint(**{**vars(made), **more})))
        with pytest.raises(CheckpointError, match="up to 1,000,000,000,000,000 to continue from"):
            trainer.load_checkpoint(saved, "bot.dshq")
        trainer.load_checkpoint(Checkpoint(**{**vars(made), "version": checkpoint.MOST_COUNT}), "bot.dshq")


def test_a_name_asks_for_no_row_that_fills_the_memory():
    """It comes from a file: with bins=1000 this row was made before anything looked at it, and took 20 GB."""
    with pytest.raises(GymError, match="216,000 numbers each, more than the 65,536"):
        described("gym:Pendulum-v1+DiscretizeObservation(bins=60)")
    beside_a_picture = gym.Env()
    shades, wide = gym.spaces.Box(0, 255, (8, 8, 3), np.uint8), gym.spaces.Discrete(1 << 40)
    beside_a_picture.observation_space = gym.spaces.Dict({"picture": shades, "wide": wide})
    with pytest.raises(GymError, match="numbers each"):
        readable(beside_a_picture)


@pytest.mark.parametrize(
    ("names", "numbers"),
    [
        ("DiscretizeObservation(bins=1000)+FlattenObservation", "1,000,000,000"),
        ("DiscretizeObservation(bins=1000)+TimeAwareObservation", "1,000,000,000"),
        ("DiscretizeObservation(bins=40)+FlattenObservation+DiscretizeObservation(bins=4096)", "64,000 .*4,096 times"),
        ("DiscretizeObservation(bins=40)+FlattenObservation+DelayObservation(delay=4096)", "64,000 .*4,096 times"),
    ],
)
def test_nor_does_one_in_the_middle_of_a_name(names, numbers):
    """The wrapper after it made that row, and took 16 GB, before anything looked at what came out."""
    with pytest.raises(GymError, match=f"at most, got {numbers}"):
        described(f"gym:Pendulum-v1+{names}")


class Arm(gym.Env):
    """Two joints, as MuJoCo's Reacher has."""

    observation_space = gym.spaces.Box(-1, 1, (3,))
    action_space = gym.spaces.Box(-1, 1, (2,))


def test_a_name_asks_for_no_actions_that_fill_the_memory():
    """With bins=1000 the untrained network for these million actions took 2.5 GB, and with 4,096 it would 43 GB."""
    gym.register("Arm-v0", Arm, max_episode_steps=10)
    try:
        with pytest.raises(GymError, match="want a policy of 1,000,000 outputs, and one has 65,535 at most"):
            described("gym:Arm-v0+DiscretizeAction(bins=1000)")
        assert described("gym:Arm-v0+DiscretizeAction(bins=200)").actions.outputs == 40_000
    finally:
        del gym.registry["Arm-v0"]


class Screen(gym.Env):
    """As large as Atari's."""

    observation_space = gym.spaces.Box(0, 255, (210, 160, 3), np.uint8)
    action_space = gym.spaces.Discrete(2)


class Strip(gym.Env):
    """A picture that is small, since it is low, and as wide as its name says."""

    observation_space = gym.spaces.Box(0, 255, (64, 64, 3), np.uint8)
    action_space = gym.spaces.Discrete(2)


def test_nor_for_a_picture_of_more_features_than_a_policy_file_holds():
    """342,000 of them, with the 512 neurons behind pictures, were 175 million weights before anything looked."""
    pytest.importorskip("cv2")
    gym.register("Strip-v0", Strip, max_episode_steps=10)
    try:
        with pytest.raises(GymError, match="342,144 numbers for the first layer, more than the 65,536"):
            described("gym:Strip-v0+ResizeObservation(shape=(31,400))")
    finally:
        del gym.registry["Strip-v0"]


def test_no_network_is_made_before_it_is_known_to_be_the_files(tmp_path, monkeypatch):
    """The hidden layers of a file of 21 kB and the row of the environment that it names made one of 67 million
    weights, in minutes and gigabytes, which only then was compared with the file's.
    """
    name = "gym:MountainCar-v0+DiscretizeObservation(bins=30)"
    path = checkpoint.save(tmp_path / "bot.dshq", environment_file(name, (1, 8, 3)))
    made = []
    monkeypatch.setattr(PolicySpec, "untrained", lambda spec, seed: made.append(spec))
    with pytest.raises(CheckpointError, match="choose a file for this drill and network"):
        Trainer(path)
    with pytest.raises(CheckpointError, match="choose a file for this drill and network"):
        Trainer(name, resume=path)
    assert made == []


@pytest.mark.parametrize(
    ("names", "numbers"),
    [
        ("ResizeObservation(shape=(4096,4096))", "50,432,448"),
        ("ResizeObservation(shape=(1000,1000))" + "+NormalizeObservation" * 7, "6,100,800"),
    ],
)
def test_nor_for_one_that_is_made_large_or_is_kept_by_each_wrapper(names, numbers):
    """The first took 650 MB and 18 s, eight wrappers around a picture that one may have 1.4 GB and 46 s."""
    pytest.importorskip("cv2")
    gym.register("Screen-v0", lambda: Screen(), max_episode_steps=10)
    try:
        with pytest.raises(GymError, match=f"at most, got {numbers} numbers together"):
            described(f"gym:Screen-v0+{names}")
        env = named.wrapped(gym.make("Screen-v0"), ["ResizeObservation(shape=(1000,1000))", "GrayscaleObservation"], "")
        assert env.observation_space.shape == (1000, 1000)
    finally:
        del gym.registry["Screen-v0"]


@pytest.mark.parametrize("text", ["Cells(tile_size=65)", "Cells(tile_size=-4096)", "Cells(agent_view_size=801)"])
def test_nor_for_a_picture_of_cells_that_does(text, monkeypatch):
    """MiniGrid's `RGBImgObsWrapper(tile_size=2048)` took 4.4 GB and 21 s, 4096 four times that."""

    class Cells(gym.ObservationWrapper):
        def __init__(self, env, tile_size=8, agent_view_size=7):
            super().__init__(env)

    monkeypatch.setitem(sys.modules, "minigrid.wrappers", types.SimpleNamespace(Cells=Cells))
    monkeypatch.setitem(sys.modules, "minigrid", types.SimpleNamespace(wrappers=sys.modules["minigrid.wrappers"]))
    with pytest.raises(GymError, match="of a ..._size up to 64"):
        named.wrapper(text, "MiniGrid-Empty-8x8-v0")
    env = gym.make("CartPole-v1")
    assert isinstance(named.wrapper("Cells(tile_size=64)", "MiniGrid-Empty-8x8-v0")(env), Cells)
