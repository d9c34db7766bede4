"""A clock that players see, or are paid at, may not cut an episode off; the end of a drill so made has its value."""

import numpy as np
import pytest

from dshq_kernels.network import mlp
from dshq_kernels.play.rollout import Rollouts, Samples
from dshq_widget.algorithms.ppo.learners.fused import FusedPPO
from dshq_widget.algorithms.ppo.learners.learner import Hyper
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drill.declaration import Observation, rule
from dshq_widget.drills import drills
from dshq_widget.env.check import inspect
from dshq_widget.env.check_subject import Subject
from dshq_widget.env.making import make, make_parallel, make_vec
from dshq_widget.policy.network import PolicySpec
from dshq_widget.policy.policy import Policy
from tests.harness.games.toy_drills import Walk


class Watched(Walk):
    """Shows the time left, and continues past its limit."""

    name = "watched"
    observations = (Observation("x"), Observation("time left"))

    @rule
    def observe(s, i, side, o):
        o[0, i] = s.x[i]
        o[1, i] = 1.0 - float(s.ticks[i]) / 120.0


class Fined(Walk):
    """Costs one at the limit, and continues past it."""

    name = "fined"

    @rule
    def far(s, i, side):
        return -1.0 if s.ticks[i] >= 120 else s.x[i]


class Counted(Walk):
    """The same with a clock of its own, which no probing of `ticks` moves."""

    name = "counted"
    state = {"x": "f32", "left": "i32"}
    observations = (Observation("x"), Observation("moves left"))

    @rule
    def reset(s, i):
        s.left[i] = 30

    @rule
    def decide(s, i):
        s.left[i] -= 1
        s.x[i] = 0.5 * s.x[i] + (0.1 if s.action[0, i] == 1 else -0.1)

    @rule
    def observe(s, i, side, o):
        o[0, i] = s.x[i]
        o[1, i] = float(s.left[i]) / 30.0

    @rule
    def far(s, i, side):
        return -1.0 if s.left[i] == 0 else 0.0


class Toll(Walk):
    """Two decisions, and one to pay at the end, which is one."""

    name, time_limit = "toll", 8
    observations = (Observation("x"), Observation("time left"))

    @rule
    def observe(s, i, side, o):
        o[0, i] = s.x[i]
        o[1, i] = 1.0 - float(s.ticks[i]) / 8.0

    @rule
    def terminated(s, i):
        return s.ticks[i] >= 8

    @rule
    def winner(s, i):
        return 0

    @rule
    def far(s, i, side):
        return -1.0 if s.ticks[i] >= 8 else 0.0


@pytest.mark.parametrize(
    ("drill", "text"),
    [
        (Watched, "observation 'time left' tells the time, but the time limit cuts an episode off"),
        (Fined, "the term 'far' pays at the time limit, but the limit cuts an episode off"),
        (Counted, "observation 'moves left' tells the time"),
    ],
)
def test_a_clock_that_counts_and_cuts_off_is_refused(drill, text):
    found = inspect(Subject(compile_drill(drill)), "clock")
    assert found.ok is False and text in found.text
    assert "`return ... or s.ticks[i] >= LIMIT` in `terminated`" in found.mend


@pytest.mark.parametrize(("drill", "text"), [(Toll, "terminates an episode"), (Walk, "cuts an episode off: no")])
def test_a_clock_that_ends_or_hides_passes(drill, text):
    found = inspect(Subject(compile_drill(drill)), "clock")
    assert found.ok and text in found.text


@pytest.mark.parametrize("name", drills)
def test_the_drills_that_come_with_it_keep_the_rule(name):
    assert inspect(Subject(compile_drill(drills[name])), "clock").ok


def test_the_last_decision_is_worth_what_the_end_pays():
    """Bootstrapped past its limit the drill would be worth less with every update."""
    drill = compile_drill(Toll)
    game, spec = drill.game(), drill.spec
    network = PolicySpec.for_drill(spec, (8,))
    learner = FusedPPO(network, seed=0)
    games = Rollouts(
        game, spec, network.layers, mlp.ACTIVATIONS["tanh"], games=64, length=8, shares={"self": 1.0}, seed=0
    )
    samples, stats = Samples.new(games.units, spec.n_obs), games.new_stats()
    for _ in range(150):
        games.play(mlp.pack(games.plan, learner.blob()), samples, stats, gamma=0.995, gae_lambda=0.95)
        games.advance()
        learner.update(samples, games.trainable, Hyper(learning_rate=1e-2, minibatch_size=256, epochs=2))
    obs = np.array([[x, left] for x in (-0.1, 0.0, 0.1) for left in (0.5, 1.0)], np.float32)
    value = Policy(network.layers, network.activation, learner.blob()).forward(obs)[1]
    assert abs(value + 1).max() < 0.1, value


def test_every_face_says_terminated_where_players_see_the_clock():
    env = make("approach")
    env.reset(seed=0)
    many, parallel = make_vec("approach", 2), make_parallel("ball")
    many.reset(seed=0)
    parallel.reset(seed=0)
    for batch in (env._vector.batch, many.batch, parallel.batch):
        batch.tiles["ticks"] = batch.spec.time_limit - batch.spec.action_repeat
    assert env.step(0)[2:4] == (True, False)
    assert many.step([0, 0])[2].all()
    ended = parallel.step(dict.fromkeys(parallel.agents, 0))
    assert all(ended[2].values()) and not any(ended[3].values())
