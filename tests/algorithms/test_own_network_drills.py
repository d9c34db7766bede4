"""A network of a person's own on drills: played, learned, saved, resumed, evaluated, and shown ahead of the page."""

import numpy as np
import pytest

from dshq_kernels.play.loops import STATS
from dshq_widget.algorithms.ppo.learners.learner import Hyper
from dshq_widget.algorithms.ppo.own.games import DrillGames, actions_of
from dshq_widget.algorithms.ppo.own.learner import OwnNormalizer, OwnPPO
from dshq_widget.algorithms.ppo.own.matches import by_name, played
from dshq_widget.algorithms.ppo.own.show import Show
from dshq_widget.contract.setting import ConfigError
from dshq_widget.contract.settings import TrainConfig, of_drill
from dshq_widget.env.ahead import check_sum
from dshq_widget.env.batch import Batch, compiled
from dshq_widget.policy import checkpoint, evaluate
from dshq_widget.policy.checkpoint import CheckpointError
from dshq_widget.policy.loading import load_policy
from dshq_widget.policy.own_network import Found
from dshq_widget.policy.own_policy import OwnPolicy
from dshq_widget.policy.own_spec import OwnSpec
from dshq_widget.runtime.memory import SharedBlock
from dshq_widget.runtime.slots import WeightSlots
from dshq_widget.training import evaluation
from dshq_widget.training.trainer import Trainer
from dshq_widget.widget import page_protocol
from dshq_widget.widget.drill_widget import DrillWidget
from dshq_widget.widget.policy_show import PolicyShow
from dshq_widget.widget.rivals import Rivals
from tests.harness.games.own_networks import Small
from tests.harness.processes.faults import until

QUICK = {"num_envs": 64, "rollout_length": 16, "epochs": 2, "minibatch_size": 256}

pytestmark = pytest.mark.usefixtures("learners_in_threads")


def learner_of(drill, config: TrainConfig) -> OwnPPO:
    spec = OwnSpec.of(drill.spec, Found.of(Small))
    normalizer = OwnNormalizer(spec, config.normalize_observations, config.normalize_rewards)
    return OwnPPO(spec, actions_of(drill), "", seed=0, normalizer=normalizer)


@pytest.mark.parametrize("name", ["bandit", "maze", "approach", "sumo"])
def test_what_is_played_is_what_a_learner_reads(name):
    drill = compiled(name)
    opponents = {"self": 0.5, "random": 0.5} if drill.spec.sides == 2 else {"self": 1.0}
    config = of_drill(drill.spec).replace({**QUICK, "opponents": opponents})
    games, learner = DrillGames(drill, config), learner_of(drill, config)
    rows = 64 * 3 // 2 if drill.spec.sides == 2 else 64
    for _ in range(4):
        got = games.next(learner, config, 0)
        samples = got.samples
        assert got.agent_steps == rows * 16 == got.stats[STATS.index("agent_steps")]
        assert samples.obs.shape == (rows, drill.spec.n_obs, 16) and np.isfinite(samples.returns).all()
        if drill.spec.masked:
            assert samples.mask is not None and not samples.mask.all()
            at = samples.action[..., 0].astype(int)
            assert np.take_along_axis(samples.mask, at[..., None], -1).all(), "only what is allowed is drawn"
        log_prob, value = samples.log_prob.copy(), samples.value.copy()
        outputs, values = learner.look(
            np.ascontiguousarray(samples.obs.transpose(0, 2, 1).reshape(-1, drill.spec.n_obs))
        )
        assert np.allclose(values, value.ravel(), atol=1e-5)
        if samples.mask is None:
            assert np.allclose(learner.log_prob(outputs, samples.action.reshape(-1, 1)), log_prob.ravel(), atol=1e-5)
        learner.update(samples, got.units, Hyper.at(config, 0))
    assert np.isfinite(learner.blob()).all()


def test_rewards_and_ends_are_those_of_the_rules():
    """Of a game that somebody else steps with the same actions."""
    drill = compiled("bandit")
    config = of_drill(drill.spec).replace({**QUICK, "rollout_length": 250, "gae_lambda": 0.0, "gamma": 0.0})
    games, learner = DrillGames(drill, config), learner_of(drill, config)
    copy = Batch(drill, 64, gamma=0.0)
    copy.tiles[:] = games.batch.tiles
    got = games.next(learner, config, 0)
    actions = got.samples.action.reshape(250, 64, 1).astype(int)
    rewards = got.samples.returns.reshape(250, 64)  # of these settings
    episodes, total = 0, 0.0
    for t in range(250):
        paid, _, terminated, truncated = copy.step(actions[t])
        assert np.allclose(paid[:, 0], rewards[t], atol=1e-6)
        over = terminated | truncated
        episodes += int(over.sum())
        copy.reset(over)
    stats = dict(zip(STATS, got.stats, strict=False))
    assert stats["episodes"] == stats["returns"] == episodes > 0
    assert stats["return_sum"] > 0 and stats["return_min"] <= stats["return_max"] and total == 0.0


def test_sides_take_turns_against_an_opponent():
    drill = compiled("ball")
    config = of_drill(drill.spec).replace({**QUICK, "opponents": {"chaser": 0.5, "self": 0.5}})
    games = DrillGames(drill, config)
    against = games.learning[games.scripts["chaser"]]
    assert against.sum(1).tolist() == [1] * 32 and against[:, 0].sum() == 16
    assert games.learning[~games.scripts["chaser"]].all()


def test_matches_are_counted_as_those_of_other_policies_are():
    """Of a script against chance, by both ways to play."""
    drill = compiled("sumo")
    script = drill.spec.baselines[0]
    ours = evaluate.tallied(*played(drill, by_name(script), by_name("random"), 400, 0), "random")
    players = evaluate.opponent(script, drill), evaluate.opponent("random", drill)
    theirs = evaluate.evaluate(drill, *players, 400, name="random")
    assert set(ours) == set(theirs) and ours["matches"] == 400
    assert abs(ours["points"] - theirs["points"]) < 0.1
    assert ours == evaluate.tallied(*played(drill, by_name(script), by_name("random"), 400, 0), "random")
    alone = compiled("bandit")
    _, length, returns = played(alone, by_name("random"), None, 300, 1)
    rated = evaluate.rated(alone, returns, length)
    assert rated["return_mean"] == pytest.approx(evaluate.references(alone, 300)["return_mean_random"], abs=3)


def test_trained_saved_resumed_and_evaluated(tmp_path):
    settings = {**QUICK, "rollout_length": 100, "learning_rate": 0.01, "evaluate_seconds": 3600}
    with Trainer("bandit", network=Small, **settings) as trainer:
        enough = trainer.train_for(updates=60, stop_when=lambda now: now.get("return_mean", 0) > 45, progress=False)
        assert enough and trainer.metrics["return_mean"] > 40, trainer.metrics
        path = trainer.save(tmp_path / "bot.dshq")
        wanted = trainer.latest_policy().weights
    saved = checkpoint.load(path)
    assert saved.network["name"].endswith(":Small") and not saved.stands_in
    with Trainer(path, network=Small) as again:
        assert np.array_equal(again.latest_policy().weights, wanted)
        kept = checkpoint.load(again.save(tmp_path / "again.dshq")).state
        assert all(np.array_equal(kept[name], saved.state[name]) for name in saved.state)
        again.train_for(updates=2, progress=False)
    found = evaluation.evaluate(path, network=Small, matches=20)
    assert found["return_mean"] > found["return_mean_random"] + 10
    with pytest.raises(CheckpointError, match="a file may not import a module: give it"):
        evaluation.evaluate(path, matches=1)
    with pytest.raises(ValueError, match="cannot search"):
        evaluation.evaluate(path, network=Small, matches=1, search="4,2")
    policy = load_policy(path, network=Small)
    assert isinstance(policy, OwnPolicy) and policy.act(np.zeros((3, policy.spec.layers[0]), np.float32)).shape == (3,)


def test_two_sides_train_and_meet_other_policies(tmp_path):
    with Trainer("ball", network=Small, evaluate_seconds=3600, **QUICK) as trainer:
        assert "pool" not in trainer.config.opponents
        trainer.train_for(updates=2, progress=False)
        path = trainer.save(tmp_path / "bot.dshq")
    for against in ("chaser", "random", "gold"):
        found = evaluation.evaluate(path, network=Small, matches=4, against=against)
        assert found["wins"] + found["draws"] + found["losses"] == 4 and found["against"] == against
    with pytest.raises(ValueError, match="against: wanted random, idle"):
        evaluation.evaluate(path, network=Small, matches=4, against="league:best")
    with pytest.raises(CheckpointError, match="a file may not import"):
        evaluation.evaluate("ball:bronze", against=path, matches=2)
    with pytest.raises(CheckpointError, match="a file may not import"):
        Rivals(compiled("ball"), False, None).named(path)


def test_opponents_that_are_policies_are_refused():
    with pytest.raises(ConfigError, match="opponents: gold has the package's own network"):
        Trainer("ball", network=Small, opponents={"gold": 0.5, "self": 0.5})
    with pytest.raises(ValueError, match="has no league: leave pool out"):
        Trainer("ball", network=Small, opponents={"pool": 0.5, "self": 0.5})


def test_scenes_are_refused_in_a_sentence():
    drill = compiled("approach")
    with Trainer(drill, network=Small) as trainer, pytest.raises(ValueError, match="practises no scenes"):
        trainer.add_scene(Batch(drill, 1).snapshot([0])[0].astype("<u4").tobytes())


class TestShow:
    def show(self, name: str, version: int = 3):
        """A show, what it sent, its slots, and how the page's match begins."""
        drill = compiled(name)
        spec = OwnSpec.of(drill.spec, Found.of(Small))
        self.block = SharedBlock.create(WeightSlots.nbytes_for(spec.floats))
        slots = WeightSlots.create(self.block, spec.floats)
        if version:
            slots.publish(version, 0, spec.untrained(version))
        sent = []
        show = Show(sent.append, drill, OwnPolicy(spec, spec.untrained(0)), slots, 7)
        state = Batch(drill, 1, seed=5).snapshot([0])[0].astype("<u4").tobytes().hex()
        return show, sent, slots, {"state": state, "tick": 40, "repeat": 4, "opponent": "random", "at_reset": False}

    @staticmethod
    def ask(show, count, start=None, plan=1):
        show.obey({"type": "DECIDE", "page": 9, "plan": plan, "count": count, "watch": False, "start": start})
        while show.busy:
            show.advance()

    @pytest.mark.parametrize("name", ["approach", "ball", "snake"])
    def test_the_page_can_follow_state_by_state(self, name):
        show, sent, slots, start = self.show(name)
        self.ask(show, 20, start)
        page, tick = Batch(show.drill, 1), 40
        page.restore([0], np.frombuffer(bytes.fromhex(start["state"]), "<u4")[None].astype(np.uint32))
        rows = [row for message in sent for row in message["decisions"]]
        assert len(rows) == 20 and {message["version"] for message in sent} == {3}
        for at, total, *actions in rows:
            if page.over()[0].any() or page.over()[1].any():
                return
            assert (at, total) == (tick, check_sum(page.snapshot([0])[0])) and len(actions) == show.drill.spec.sides
            page.tiles["action"][0, :, 0] = actions
            page.game.decide(page.tiles)
            page.game.tick(page.tiles, 4)
            tick += 4

    def test_a_new_version_decides_from_then_on(self):
        show, sent, slots, start = self.show("approach", 0)
        self.ask(show, 3, start)
        slots.publish(8, 0, show.policy.spec.untrained(8))
        self.ask(show, 3)
        assert [message["version"] for message in sent] == [0, 8]
        assert np.array_equal(show.policy.to_torch().flat(), show.policy.spec.untrained(8))
        show.obey({"type": "DECIDE", "page": 9, "plan": 2, "count": 1, "watch": False, "start": None})
        assert sent[-1] == {"type": "DECIDE_AGAIN", "page": 9, "plan": 2}

    def test_a_widget_starts_it_and_the_page_knows(self):
        with DrillWidget("approach", network=Small, prepare=False) as widget:
            trainer, sent = widget._trainer, []
            config = page_protocol.config(trainer)
            assert config["algorithm"]["elsewhere"] is True and widget.policy["data"] == b""
            with pytest.raises(ValueError, match="a page does not run: leave out --html"):
                widget.export_html("match.html")
            show = PolicyShow(trainer, sent.append, sent.append)
            *_, start = self.show("approach")
            show.send({"type": "DECIDE", "page": 1, "plan": 1, "count": 4, "watch": False, "start": start})
            until(lambda: any(message.get("type") == "DECISIONS" for message in sent))
            show.close()
        with Trainer("approach") as plain:
            assert page_protocol.config(plain)["algorithm"]["elsewhere"] is False
