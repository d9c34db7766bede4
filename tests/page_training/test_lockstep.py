"""The page's learner beside Python's, in lock-step: from the same weights the same games, schedules, orders, steps."""

import base64

import numpy as np
import pytest

from dshq_kernels.play.records import learner_module
from dshq_widget.algorithms.ppo.learners.fused import FusedPPO
from dshq_widget.algorithms.ppo.learners.learner import Hyper
from dshq_widget.algorithms.ppo.learners.normalizer import Normalizer
from dshq_widget.contract import settings
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drills import get
from dshq_widget.learning.games import OwnGames
from dshq_widget.learning.scenes.arranged import parse
from dshq_widget.policy.network import PolicySpec
from tests.harness.games.ball_scenes import OPEN_GOAL, OWN_GOAL
from tests.harness.typescript import run
from tests.harness.wasm_host import fuses

CLOSE = 1e-5
CLOSE_IN_STEPS = 0.05
"""Of the learning rate: Adam divides by a gradient's size, so the last bits count where a weight hardly matters."""
FLIPPED = 0.005
"""Share of weights whose gradient is nothing but rounding: Adam moves these by up to the learning rate, either way."""
UPDATES = 3
SOURCE = 'export { default as main } from "./js/tests/harness/lockstep";'
SMALL = {"num_envs": 64, "rollout_length": 16, "minibatch_size": 512, "epochs": 2}
RUNS = {
    "ball": ("ball", {}),
    "all settings": (
        "ball",
        {
            "opponents": {"self": 0.5, "chaser": 0.25, "idle": 0.25},
            "separate_value_net": True,
            "activation": "relu",
            "hidden_sizes": (32, 48),
            "normalize_observations": True,
            "normalize_rewards": True,
            "clip_value": True,
            "target_kl": 0.02,
            "lr_schedule": "cosine",
            "clip_schedule": "linear",
            "total_agent_steps": 5000,
            "minibatch_order": "sequential",
            "reward_weights": {"approach": 2.0},
        },
    ),
    "priorities": ("approach", {"priority_alpha": 0.6, "epochs": 3, "normalize_advantages": False}),
    "a mask": ("bandit", {}),
    "a memory": ("lamp", {"num_envs": 64}),
    "two who remember": (
        "ball",
        {"memory": 20, "hidden_sizes": (32,), "opponents": {"self": 0.5, "chaser": 0.5}, "priority_alpha": 0.5},
    ),
    "scenes": ("ball", {"scene_share": 0.9}),
    "a grid": ("maze", {"num_envs": 32}),
    "pairs": ("binpack", {"num_envs": 32}),
}


def packed(data):
    return base64.b64encode(data).decode()


def numbers(text, kind=np.float32):
    return np.frombuffer(base64.b64decode(text), kind)


BUILDS = pytest.mark.parametrize("relaxed", [False, True], ids=["simd128", "relaxed"])


@pytest.mark.slow  # the learner's modules are compiled for half a minute each, if they are not cached
@BUILDS
@pytest.mark.parametrize("name", RUNS)
def test_updates_are_the_same(name, relaxed):
    """With relaxed SIMD on a machine that fuses, to the last bit."""
    which, changes = RUNS[name]
    drill = compile_drill(get(which))
    config = settings.of_drill(drill.spec).replace({**SMALL, **changes})
    spec = PolicySpec.for_config(drill.spec, config)
    learner = FusedPPO(
        spec,
        seed=config.seed,
        normalizer=Normalizer(spec, config.normalize_observations, config.normalize_rewards),
    )
    games = OwnGames(drill, config, 1)
    scenes = np.stack([parse(drill.spec, state) for state in (OPEN_GOAL, OWN_GOAL)]) if name == "scenes" else []
    if len(scenes):
        games.practise(scenes)
    found = run(
        SOURCE,
        {
            "spec": drill.spec.to_json(),
            "learner": packed(learner_module(relaxed)),
            "drill": packed(drill.wasm(relaxed)),
            "values": config.to_json(),
            "weights": packed(learner.blob().tobytes()),
            "updates": UPDATES,
            "scenes": [packed(scene.astype("<u4").tobytes()) for scene in scenes],
        },
        *(["--experimental-wasm-relaxed-simd"] if relaxed else []),
    )
    exact = relaxed and fuses(drill) and not config.normalize_observations and config.priority_alpha == 0
    assert numbers(found["begin"], np.uint8).tobytes() == games.rollouts.tiles.tobytes(), "the same games begin"
    assert found["units"] == games.units.tolist()
    steps = 0
    for k, row in enumerate(found["rows"], 1):
        played = games.next(learner, config, 0)
        hyper = Hyper.at(config, steps)
        assert row["hyper"] == {**vars(hyper)}
        learned = learner.update(played.samples, played.units, hyper)
        steps += played.agent_steps
        assert row["learned"].keys() == learned.keys()
        for key, value in learned.items():
            assert row["learned"][key] == pytest.approx(value, rel=1e-3, abs=1e-5), key
        stats = [float(x) if np.isfinite(x) else None for x in played.stats]
        assert row["stats"] == pytest.approx(stats, rel=1e-4, abs=1e-4)
        if exact:
            assert numbers(row["weights"]).tobytes() == learner.blob().tobytes()
        apart = np.abs(numbers(row["weights"]) - learner.blob()) - CLOSE * np.abs(learner.blob())
        assert (apart > max(CLOSE, k * CLOSE_IN_STEPS * hyper.learning_rate)).mean() <= FLIPPED, f"update {k}"
        assert apart.max() <= k * hyper.learning_rate, f"update {k}"
    assert steps > 0 and np.abs(learner.blob()).max() > 0
