"""PPO that stays on one device plays by the rules and learns as the reference: processor, simulator, or a GPU."""

import dataclasses
import os
import re
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from dshq_kernels.play import gae
from dshq_kernels.play.loops import DECISIONS, DRAWS, EPISODES, RETURN_SUM, RETURNS, STATS, WINS_0, WINS_1
from dshq_kernels.play.players import IDLE, RANDOM, SELF
from dshq_widget.algorithms.ppo.learners import losses, resident
from dshq_widget.algorithms.ppo.learners.learner import Hyper, priorities
from dshq_widget.algorithms.ppo.learners.normalizer import Normalizer
from dshq_widget.algorithms.ppo.learners.resident import ResidentPPO
from dshq_widget.algorithms.ppo.learners.torch_ppo import TorchPPO
from dshq_widget.env.batch import compiled
from dshq_widget.gpu.cuda import graphs
from dshq_widget.gpu.games import CpuGames, make_games
from dshq_widget.gpu.play import Play, draw, groups_of
from dshq_widget.gpu.rollout import Rollout
from dshq_widget.policy.network import PolicySpec
from dshq_widget.policy.policy import Policy
from tests.harness.games.device_play import GAMMA, LAMBDA, LENGTH, host, start
from tests.harness.games.samples import METRICS, SPEC, make_samples
from tests.harness.games.toy_drills import Barred, Climb, Race
from tests.harness.simulator import simulated

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
ALIKE = {"cpu": 1e-5, "cuda": 1e-4}
"""Largest difference from the reference: sums on a GPU have another order."""


def replay(compiled, learner, play, words, running, found):
    """The same decisions through the rules on the processor, one at a time; checks every array of the rollout."""
    spec, n = compiled.spec, play.games.n
    twin = CpuGames(compiled, n)
    twin.restore(words)
    game, tiles, policy = twin.game, twin.tiles, Policy(learner.spec.layers, "tanh", learner.blob())
    rows = play.rows.cpu().numpy()
    side, number = rows // n, rows % n
    terms = {term.name: k for k, term in enumerate(spec.terms)}

    def per_game(array):  # [tiles, ..., 16] -> [n, ...]
        return np.moveaxis(array, -1, 1).reshape(n, *array.shape[1:-1])

    def seen():
        return per_game(game.observe(tiles))[number, side]

    final_value = np.zeros((LENGTH, len(rows)), np.float32)
    ended, paid_all = np.zeros(4), np.zeros(len(terms))
    running, sums = running.copy(), []
    for t in range(LENGTH):
        obs = seen()
        assert np.array_equal(found["obs"][t], obs)
        mask = per_game(game.mask(tiles))[number, side]
        if game.masked:
            assert np.array_equal(found["mask"][t], mask) and not mask.all()
        logits = policy.logits(obs, mask)
        log_probs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
        action = found["action"][t]
        assert np.take_along_axis(mask, action[:, None], -1).all()
        assert np.allclose(found["log_prob"][t], np.take_along_axis(log_probs, action[:, None], -1)[:, 0], atol=2e-5)
        assert np.allclose(found["value"][t], policy.forward(obs)[1], atol=2e-5)
        chosen = np.zeros((n, spec.sides), np.int32)
        for group in play.groups:
            if group.kind not in (SELF, IDLE):
                some = slice(group.begin // 16, group.end // 16)
                who = "random" if group.kind == RANDOM else spec.baselines[group.kind]
                scripted = game.actions(tiles[some], who)
                chosen[group.begin : group.end] = np.moveaxis(scripted, -1, 1).reshape(-1, spec.sides)
        chosen[number, side] = action
        tiles["action"] = np.moveaxis(chosen.reshape(-1, 16, spec.sides), 1, -1)
        before = per_game(game.terms(tiles))
        game.decide(tiles)
        game.tick(tiles, spec.action_repeat)
        after = per_game(game.terms(tiles))
        weights = np.array([term.weight for term in spec.terms])
        shaped = np.array([term.kind == "potential" for term in spec.terms])
        paid = np.where(shaped, GAMMA * after - before, after) * weights
        assert np.allclose(found["reward"][t], paid.sum(-1)[number, side], atol=1e-5)
        paid_all += paid[number, side].sum(0)
        terminated, winner = (x.reshape(n) for x in game.status(tiles))
        over = terminated | (tiles["ticks"].reshape(n) >= spec.time_limit)
        assert np.array_equal(found["terminated"][t], terminated[number])
        assert np.array_equal(found["truncated"][t], (over & ~terminated)[number])
        final_value[t] = np.where((over & ~terminated)[number], policy.forward(seen())[1], 0)
        running += paid.sum(-1)[number, side]
        sums += running[over[number]].tolist()
        running[over[number]] = 0
        ended += [over.sum(), (winner[over] > 0).sum(), (winner[over] < 0).sum(), (winner[over] == 0).sum()]
        game.reset(tiles, over.reshape(-1, 16))
    assert np.array_equal(play.games.words(), twin.words()), "the games continue from the same states"
    last_value = policy.forward(seen())[1]
    assert found["terminated"].any() and found["truncated"].any()
    assert np.allclose(found["final_value"], final_value, atol=2e-5)
    assert np.allclose(found["last_value"], last_value, atol=2e-5)
    wanted = gae.gae(
        found["reward"], found["value"], last_value, final_value, found["terminated"], found["truncated"], GAMMA, LAMBDA
    )
    assert np.allclose(found["advantage"], wanted[0], atol=1e-4)
    assert np.allclose(found["returns"], wanted[1], atol=1e-4)
    stats = found["stats"]
    assert np.array_equal(stats[[EPISODES, WINS_0, WINS_1, DRAWS]], ended)
    assert stats[RETURNS] == len(sums) and stats[RETURN_SUM] == pytest.approx(sum(sums), abs=1e-2)
    assert stats[EPISODES] <= stats[DECISIONS] <= ended[0] * -(-spec.time_limit // spec.action_repeat)
    assert stats[len(STATS) :] == pytest.approx(paid_all, abs=2e-2)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("drill", "shares", "games"),
    [
        (Race, {"self": 1}, 64),
        (Race, {"self": 0.4, "walker": 0.2, "random": 0.2, "idle": 0.2}, 160),
        (Climb, {"self": 1}, 48),
        (Barred, {"self": 0.4, "random": 0.3, "walker": 0.3}, 160),
    ],
)
def test_every_array_is_what_the_rules_say(drill, shares, games, device):
    compiled, learner, play = start(drill, shares, games, device)
    for _ in range(2):
        words, running = play.games.words(), play.running.cpu().numpy().copy()
        replay(compiled, learner, play, words, running, host(play.next()))
    assert learner.forward(play.rollout.obs[0], None)[0].shape == (len(play.rows), compiled.spec.n_actions)


IN_THE_SIMULATOR = """
import contextlib
import numpy as np, torch
from dshq_kernels.play import gae
from dshq_kernels.play.gae_cuda import launch_gae
from dshq_widget.gpu import play as gpu_play
from dshq_widget.gpu.cuda.games import CudaGames
from dshq_widget.gpu.games import CpuGames
from tests.gpu import test_resident as own
from tests.harness.games import device_play
from tests.harness.games.toy_drills import Barred

runs = []
for make in (CpuGames, lambda drill, n: CudaGames(drill, n, torch.device("cpu"))):
    device_play.make_games = lambda drill, n, device: make(drill, n)
    _, learner, play = device_play.start(Barred, {"self": 0.4, "random": 0.3, "walker": 0.3}, 48, length=4)
    scenes = play.games.words()[:2].copy()
    play.practise(scenes, 0.5)
    if make is not CpuGames:  # as one graph, recorded at the first rollout
        gpu_play.captured, play._wants_graph = own.as_captured, True
    first = device_play.host(play.next())
    with own.NobodyWaits() if make is not CpuGames else contextlib.nullcontext():
        second = play.next()
    runs.append([first, device_play.host(second), play.games.words()])
(first, second, words), (again, later, twins) = runs
assert np.array_equal(words, twins) and (second["terminated"] | second["truncated"]).any()
for one, other in ((first, again), (second, later)):
    for name in one:
        assert np.allclose(one[name], other[name], atol=1e-5), name
rng = np.random.default_rng(0)
arrays = [rng.standard_normal(shape).astype("f4") for shape in ((30, 32), (30, 32), (32,), (30, 32))]
ends = [rng.random((30, 32)) < 0.1 for _ in range(2)]
wanted = gae.gae(*arrays, *ends, 0.97, 0.9)
found = [np.zeros((30, 32), "f4") for _ in range(2)]
launch_gae((*arrays, *(e.view("u1") for e in ends), np.array([0.97, 0.9], "f4"), *found))
assert all(np.allclose(a, b, atol=1e-5) for a, b in zip(wanted, found))
print("same")
"""


def test_the_kernels_play_the_same_in_the_simulator():
    assert simulated(IN_THE_SIMULATOR) == "same"


def test_draws_follow_probabilities_and_never_what_is_forbidden():
    probabilities = torch.tensor([0.0, 0.2, 0.0, 0.5, 0.3, 0.0])
    chance = (torch.arange(1000) + 0.5) / 1000
    counts = draw(probabilities.log().expand(1000, 6), chance).bincount(minlength=6)
    assert counts.tolist() == pytest.approx([0, 200, 0, 500, 300, 0], abs=1)
    edges = torch.tensor([0.0, 1 - 2.0**-24])
    assert draw(probabilities.log().expand(2, 6), edges).tolist() == [1, 4]


def test_groups_share_the_games_and_take_both_sides():
    groups = groups_of(160, 2, {SELF: 0.4, 0: 0.2, RANDOM: 0.2, IDLE: 0.2})
    assert [g.end - g.begin for g in groups] == [32, 64, 32, 32] and groups[-1].end == 160
    assert [g.middle - g.begin for g in groups if g.kind != SELF] == [16, 16, 16]
    with pytest.raises(ValueError, match="expected a positive multiple of it, got 20"):
        make_games(compiled(Race), 20, torch.device("cpu"))
    with pytest.raises(ValueError, match="call `set_opponents` first"):
        start(Race, {-16: 1.0})[2].next()


def test_earlier_policies_play_the_other_side():
    """One that always stands, one that always runs: the learner's games are decided accordingly."""
    compiled, learner, play = start(Race, {-16: 0.5, -17: 0.5}, 64)
    blobs = []
    for favourite in (0, 2):
        blob = np.zeros(learner.spec.floats, np.float32)
        learner.spec.split(blob)[-1][1][favourite] = 60
        blobs.append(blob)
    learner.load(blobs[1])
    play.set_opponents(blobs)
    for _ in range(2):
        found = host(play.next())
    for group, favourite in zip(sorted(play.groups, key=lambda g: -g.kind), (0, 2), strict=True):
        acted = play.games.action[:, group.begin : group.end]
        theirs = torch.cat([acted[1, : len(acted[1]) // 2], acted[0, len(acted[0]) // 2 :]])
        assert (theirs == favourite).all()
    assert (found["action"] == 2).all()
    still, running = (found["reward"][:, s].mean() for s in _halves(play))
    assert still > running


def _halves(play):
    """Rows that play against each of two policies."""
    game = play.rows.numpy() % play.games.n
    return [np.flatnonzero((game >= g.begin) & (game < g.end)) for g in sorted(play.groups, key=lambda g: -g.kind)]


def test_scenes_are_practised():
    compiled, _, play = start(Climb, {"self": 1}, 64)
    scene = play.games.words()[:1].copy()
    height = compiled.game().dtype.names.index("x")
    scene[0, height] = np.float32(-7).view(np.uint32)
    scene[0, 3] = 0
    for known, share in ((scene, 0.0), (scene[:0], 1.0)):
        play.practise(scene, 1.0)
        play.next()
        assert (play.next().obs[-1] < 0).any(), "episodes begin far below"
        play.practise(known, share)
        for _ in range(3):  # longer than an episode
            last = play.next()
        assert (last.obs[-1] >= 0).all(), "known and never drawn, or not known at all"


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(
    "hyper",
    [
        Hyper(minibatch_size=256, epochs=2),
        Hyper(
            minibatch_size=300,
            epochs=3,
            clip_value=True,
            normalize_advantages=False,
            max_grad_norm=0.0,
            learning_rate=1e-3,
            priority_alpha=0.5,
            target_kl=0.0005,
        ),
    ],
    ids=["plain", "everything"],
)
def test_one_update_equals_the_reference(hyper, masked, device):
    samples, units = make_samples(masked=masked), np.arange(3, 64)
    results = []
    for learner in (TorchPPO(SPEC, seed=0), ResidentPPO(SPEC, seed=0, device=device)):
        before = learner.blob()
        for _ in range(2):
            metrics = learner.update(samples, units, hyper)
        results.append((learner.blob(), metrics, learner.state()))
        milliseconds = metrics.pop("gpu_time_ms", 1.0)
        assert np.abs(learner.blob() - before).max() > 1e-3 and set(metrics) == METRICS and milliseconds > 0
    (wanted, wanted_metrics, wanted_state), (found, metrics, state) = results
    assert np.abs(found - wanted).max() < ALIKE[device]
    assert metrics == pytest.approx(wanted_metrics, rel=1e-3, abs=1e-5)
    assert state["adam_step"] == wanted_state["adam_step"]


def test_a_rollout_is_learned_from_as_the_reference_would():
    """The rollout's own tensors against the same samples in the reference's layout, in the order of play."""
    _, learner, play = start(Barred, {"self": 0.5, "walker": 0.5}, 64)
    rollout = play.next()
    reference = TorchPPO(learner.spec)
    reference.load(learner.blob())
    hyper = Hyper(minibatch_size=500, epochs=2, minibatch_order="sequential")
    metrics = learner.update(rollout, np.arange(0), hyper)
    wanted = reference.update(rollout.to_samples(), np.arange(rollout.samples // 16), hyper)
    assert np.abs(learner.blob() - reference.blob()).max() < 1e-5
    assert metrics == pytest.approx(wanted, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("order", ["random", "sequential"])
def test_priorities_are_drawn_as_they_say(order):
    """Frequencies of units and factors against the rule on the host."""
    _, learner, play = start(Climb, {"self": 1}, 32)
    advantage = play.next().advantage.contiguous()
    units = advantage.numel() // 16
    hyper = Hyper(epochs=400, priority_alpha=0.8, priority_beta=0.6, minibatch_order=order)
    learner._settings(hyper)
    plan = learner._plan(advantage, hyper, torch.rand(400 * units, dtype=torch.float64))
    chance, factor = priorities(advantage.view(units, 16).numpy(), 0.8, 0.6)
    drawn = plan.order.view(-1, 16)
    assert (drawn[:, 0] % 16 == 0).all() and (drawn[:, 15] == drawn[:, 0] + 15).all()
    count = np.bincount(drawn[:, 0].numpy() // 16, minlength=units)
    expected = 400 * units * chance
    assert (np.abs(count - expected) < 6 * np.sqrt(expected) + 1).all()
    assert np.allclose(plan.importance.view(-1, 16)[:, 3].numpy(), factor[drawn[:, 0].numpy() // 16], rtol=1e-4)


def test_a_broken_minibatch_changes_nothing_and_is_counted():
    samples, hyper = make_samples(), Hyper(minibatch_size=256, minibatch_order="sequential", normalize_advantages=False)
    samples.advantage[:16] = np.nan
    learners = TorchPPO(SPEC, seed=0), ResidentPPO(SPEC, seed=0)
    metrics = [learner.update(samples, np.arange(64), hyper) for learner in learners]
    assert [learner.skipped for learner in learners] == [1, 1]
    assert np.isfinite(learners[1].blob()).all()
    assert np.abs(learners[0].blob() - learners[1].blob()).max() < 1e-5
    assert metrics[1] == pytest.approx(metrics[0], rel=1e-4, abs=1e-6)
    samples.advantage[:] = np.nan
    before = learners[1].blob()
    assert set(learners[1].update(samples, np.arange(64), hyper)) == {"explained_variance"}
    assert np.array_equal(learners[1].blob(), before) and learners[1].skipped == 5


def test_wrong_options_are_one_sentence():
    with pytest.raises(ValueError, match="f32, tf32, bf16, got 'f16'"):
        ResidentPPO(SPEC, precision="f16")
    with pytest.raises(ValueError, match="graph=True needs a GPU, got 'cpu'"):
        ResidentPPO(SPEC, graph=True)
    with pytest.raises(ValueError, match="the games are on cpu"):
        start(Climb, {"self": 1}, graph=True)


@pytest.mark.parametrize("device", DEVICES)
def test_half_the_precision_is_nearly_the_same(device):
    samples, hyper = make_samples(), Hyper(minibatch_size=1024, learning_rate=1e-3)
    start, blobs = ResidentPPO(SPEC, seed=0).blob(), []
    for precision in ("f32", "bf16"):
        learner = ResidentPPO(SPEC, seed=0, device=device, precision=precision)
        learner.update(samples, np.arange(64), hyper)
        blobs.append(learner.blob() - start)
    assert not np.array_equal(*blobs)
    assert np.dot(*blobs) > 0.8 * np.linalg.norm(blobs[0]) * np.linalg.norm(blobs[1])


def test_the_precision_of_others_is_left_alone():
    before = torch.get_float32_matmul_precision()
    learner = ResidentPPO(SPEC, seed=0, precision="tf32")
    learner.update(make_samples(), np.arange(64), Hyper(minibatch_size=1024))
    assert torch.get_float32_matmul_precision() == before


@pytest.mark.parametrize("device", DEVICES)
def test_it_learns_the_bandit(device):
    bandit = compiled("bandit")
    learner = ResidentPPO(PolicySpec.for_drill(bandit.spec, (16,)), seed=0, device=device)
    games = make_games(bandit, 64, torch.device(device))
    play = Play(games, learner, losses.gae, length=32, shares={"self": 1}, seed=0)
    play.settings(0.0, 0.95)
    hyper = Hyper(minibatch_size=256, epochs=4, entropy_coef=0.0)
    for _ in range(20):
        rollout = play.next()
        learner.learn(rollout, hyper)
    assert float(rollout.reward.mean()) > 0.95
    assert set(learner.report_metrics(learner.report.cpu().numpy())) == METRICS


def as_captured(work, kept=(), device=None):
    """`graphs.captured` without a GPU: the work runs before it is recorded, and what is kept is then as it was."""
    before = [tensor.detach().clone() for tensor in kept]
    for _ in range(graphs.WARM_UPS):
        work()
    with torch.no_grad():
        for tensor, value in zip(kept, before, strict=True):
            tensor.copy_(value)
    return SimpleNamespace(replay=work)


@pytest.mark.parametrize("masked", [False, True])
def test_recording_an_update_leaves_nothing_behind(masked, monkeypatch):
    """Whatever an update changes is as it was before its graph was recorded, and later updates find their graphs."""
    recorded = []
    monkeypatch.setattr(resident, "captured", lambda *given: (recorded.append(1), as_captured(*given))[1])
    samples, found = make_samples(masked=masked), []
    _, _, play = start(Barred if masked else Climb, {"self": 1}, 32, hidden=(16,))
    rollout = play.next()
    drilled = PolicySpec.for_drill(play.spec, (16,))
    hypers = [Hyper(minibatch_size=300, priority_alpha=0.5, priority_beta=beta) for beta in (0.4, 0.7)]
    hypers += [Hyper(minibatch_size=256, epochs=2, learning_rate=rate, target_kl=0.05) for rate in (1e-3, 2e-3)]
    for graph in (False, True):
        for spec, learned, order in ((drilled, rollout, None), (SPEC, samples, np.arange(3, 64))):
            learner = ResidentPPO(spec, seed=0, normalizer=Normalizer(spec, True, True))
            learner._wants_graph = graph
            told = [learner.update(learned, order, hyper) for hyper in hypers]
            found.append((learner.blob(), told, learner.state()))
    for wanted, same in zip(found[:2], found[2:], strict=True):
        assert np.array_equal(wanted[0], same[0]) and wanted[1] == same[1]
        assert all(np.array_equal(wanted[2][name], same[2][name]) for name in wanted[2])
    assert len(recorded) == 2 * 3, "fresh normalisers, then one for each shape of update"


class NobodyWaits(TorchDispatchMode):
    """Refuses operations of which the host has to know the result, or its size, before it can continue."""

    WAITING = ("_local_scalar_dense", "nonzero", "masked_select", "unique", "_unique2", "repeat_interleave")

    def __torch_dispatch__(self, operation, types, arguments=(), options=None):
        name = operation.overloadpacket.__name__
        chosen = [x for x in tree_leaves(arguments[1:]) if isinstance(x, torch.Tensor) and x.dtype == torch.bool]
        sized = name == "repeat_interleave" and (options or {}).get("output_size") is not None
        if (name in self.WAITING and not sized) or (name == "index" and chosen):
            raise AssertionError(f"{operation} waits for the device")
        return operation(*arguments, **(options or {}))


def test_nothing_would_wait_for_a_gpu():
    """On a processor nobody waits anyway, but the operations are the same."""
    shares = {"self": 0.4, "random": 0.3, "walker": 0.3}
    _, learner, play = start(Barred, shares, 48, length=4, normal=True)
    everything = Hyper(minibatch_size=100, priority_alpha=0.5, target_kl=0.1, clip_value=True, epochs=2)
    for hyper in (Hyper(minibatch_size=96), everything):
        rollout = play.next()  # in the simulator, above: the twin of the processor's games may wait
        with NobodyWaits():
            learner.learn(rollout, hyper)
    for refused in (lambda x: x.item(), lambda x: x[x > 0], lambda x: (x > 0).nonzero()):
        with pytest.raises(AssertionError, match="waits for the device"), NobodyWaits():
            refused(torch.ones(()))


@pytest.mark.gpu
def test_a_graph_is_what_it_records():
    results = []
    for graph in (False, True):
        shares = {"self": 0.5, "chaser": 0.25, "random": 0.25}
        _, learner, play = start("ball", shares, 1024, "cuda", 16, (64, 64), graph=graph)
        for _ in range(3):
            learner.learn(play.next(), Hyper(minibatch_size=4096, epochs=2))
        results.append((host(play.rollout), learner.blob()))
    (eager, eager_blob), (replayed, blob) = results
    assert np.abs(blob - eager_blob).max() < 1e-3
    assert np.mean(eager["action"] == replayed["action"]) > 0.99


@pytest.mark.gpu
@pytest.mark.parametrize("graph", [False, True])
def test_nothing_waits_for_the_host(graph):
    _, learner, play = start("ball", {"self": 0.5, "chaser": 0.5}, 1024, "cuda", 8, (64, 64), True, graph)
    hyper = Hyper(minibatch_size=4096)
    for _ in range(2):
        learner.learn(play.next(), hyper)
    torch.cuda.set_sync_debug_mode("error")
    try:
        for _ in range(3):
            learner.learn(play.next(), hyper)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert np.isfinite(learner.blob()).all()


@pytest.mark.gpu
def test_nothing_is_copied_to_or_from_the_host():
    from dshq_widget.pixels.transfer_guard import assert_no_host_memcpy

    _, learner, play = start("ball", {"self": 1}, 1024, "cuda", 8, (64, 64), graph=True)
    hyper = Hyper(minibatch_size=4096)
    for _ in range(2):
        learner.learn(play.next(), hyper)
    with assert_no_host_memcpy():
        for _ in range(3):
            learner.learn(play.next(), hyper)


def test_addresses_never_change():
    _, learner, play = start(Climb, {"self": 1}, 32)
    before = {f.name: getattr(play.next(), f.name).data_ptr() for f in dataclasses.fields(Rollout)}
    weights = learner.weights.data_ptr()
    learner.update(play.next(), np.arange(0), Hyper())
    learner.load(learner.blob())
    assert {name: getattr(play.next(), name).data_ptr() for name in before} == before
    assert learner.weights.data_ptr() == weights


def test_the_example_of_the_page_runs(capsys):
    page = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(__file__))), "docs", "howto", "gpu.md")
    with open(page) as file:
        [code] = re.findall(r"```python\n(.*?)```", file.read(), re.S)
    names: dict = {}
    exec(code, names)
    assert capsys.readouterr().out.strip().splitlines()[-1].startswith("{'explained_variance'")
    assert names["play"].rollout.obs.shape[0] == 32
