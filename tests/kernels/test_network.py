"""The network in single launches against torch's own operations, on a GPU or in Triton's interpreter."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from dshq_widget.algorithms.ppo.learners import losses
from dshq_widget.algorithms.ppo.learners.learner import Hyper
from dshq_widget.algorithms.ppo.learners.normalizer import Normalizer
from dshq_widget.algorithms.ppo.learners.resident import SKIPPED, ResidentPPO
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drills import drills
from dshq_widget.gpu.cuda import network
from dshq_widget.gpu.games import make_games
from dshq_widget.gpu.play import Play, draw
from dshq_widget.gpu.rollout import Rollout
from dshq_widget.policy.network import PolicySpec
from tests.harness.games.toy_drills import Barred, Climb, Race

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
pytest.importorskip("triton", reason="Triton is not installed")
if DEVICE == "cpu" and os.environ.get("TRITON_INTERPRET") != "1":
    pytest.skip("a driver of NVIDIA's is here, and torch finds no GPU: set TRITON_INTERPRET=1", allow_module_level=True)
pytestmark = [pytest.mark.gpu] if DEVICE == "cuda" else []

SMALL = PolicySpec((5, 20, 12, 4))
KERNELS = ("act", "slopes", "gather", "step")
ALIKE = 2e-5 if DEVICE == "cpu" else 2e-4
"""Largest difference from torch's own operations: sums on a GPU have another order."""


def noisy(spec, seed=0, **options):
    """A learner whose policy is far from uniform, zeros where it has no weights."""
    learner = ResidentPPO(spec, seed=seed, device=DEVICE, **options)
    noise = np.random.default_rng(seed).standard_normal(spec.floats) * 0.3
    learner.load(learner.blob() + (noise * spec.mask()).astype(np.float32))
    return learner


def rollout_of(spec, masked, rows=48, length=5, seed=0):
    """A rollout as a policy near `noisy`'s could have played it."""
    generator = torch.Generator(DEVICE).manual_seed(seed)
    masks = spec.n_actions if masked else 0
    rollout = Rollout.new(length, rows, spec.layers[0], masks, 0, torch.device(DEVICE))
    rollout.obs.normal_(generator=generator)
    rollout.action.random_(0, spec.n_actions, generator=generator)
    if masked:
        rollout.mask.bernoulli_(0.5, generator=generator).scatter_(2, rollout.action[..., None], True)
    mask, near = rollout.mask.flatten(0, 1) if masked else None, noisy(spec)
    near.load(near.blob() + noisy(spec, seed + 1).blob() * np.float32(0.1))
    with torch.no_grad():
        log_probs, value = near.forward(rollout.obs.flatten(0, 1), mask)
    rollout.log_prob.copy_(log_probs.gather(1, rollout.action.view(-1, 1)).view(length, rows))
    rollout.value.copy_(value.view(length, rows))
    for field in (rollout.advantage, rollout.returns):
        field.normal_(generator=generator)
    return rollout


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("masked", [False, True])
def test_it_plays_what_the_policy_says(masked, activation):
    spec = PolicySpec((5, 20, 12, 4), activation)
    learner = noisy(spec, kernels=True)
    other = torch.from_numpy(noisy(spec, seed=7).blob()).to(DEVICE)
    generator = torch.Generator(DEVICE).manual_seed(0)
    games, sides = 100, 2
    seen = torch.randn(sides, 5, games, generator=generator, device=DEVICE)
    allowed = (torch.rand(sides, 3, games, generator=generator, device=DEVICE) < 0.4).to(torch.uint8)
    allowed[:, 1] |= allowed.amax(1) == 0
    chance = torch.rand(sides, games, generator=generator, device=DEVICE)
    rows = torch.randperm(sides * games, generator=generator, device=DEVICE)[:150].sort().values
    flat, may = (x.transpose(1, 2).reshape(sides * games, -1)[rows] for x in (seen, allowed != 0))
    for weights in (None, other):
        rollout = Rollout.new(2, 150, 5, 3 if masked else 0, 0, seen.device)
        for field in vars(rollout).values():
            field.fill_(1)
        chosen = torch.full((sides, games), -7, dtype=torch.int32, device=DEVICE)
        kept = {name: field[1] for name, field in vars(rollout).items() if field.ndim > 1}
        learner.network.act(seen, allowed if masked else None, rows, chance, chosen, kept, weights)
        with torch.no_grad():
            log_probs, value = learner.forward(flat, may if masked else None, weights)
        action = draw(log_probs, chance.view(-1)[rows])
        assert torch.equal(rollout.obs[1], flat) and torch.equal(rollout.action[1], action)
        assert len(set(action.tolist())) == 3
        assert not masked or (torch.equal(rollout.mask[1], may) and not may.all())
        assert (rollout.value[1] - value).abs().max() < ALIKE
        assert (rollout.log_prob[1] - log_probs.gather(1, action[:, None])[:, 0]).abs().max() < ALIKE
        assert torch.equal(chosen.view(-1)[rows], action.int()) and (chosen == -7).sum() == sides * games - 150
        assert (rollout.obs[0] == 1).all() and (rollout.action[0] == 1).all()
        again = torch.full_like(chosen, -7)
        learner.network.act(seen, allowed if masked else None, rows, chance, again, None, weights)
        assert torch.equal(again, chosen), "without anything kept"


def test_what_is_not_possible_is_never_drawn():
    learner = noisy(SMALL, kernels=True)
    learner.load(np.zeros(SMALL.floats, np.float32))
    games = 64
    seen = torch.zeros(1, 5, games, device=DEVICE)
    allowed = torch.tensor([0, 1, 0], dtype=torch.uint8, device=DEVICE)[None, :, None].repeat(1, 1, games)
    chosen, rows = torch.zeros(1, games, dtype=torch.int32, device=DEVICE), torch.arange(games, device=DEVICE)
    for chance in (0.0, 0.5, 1 - 2.0**-24):
        learner.network.act(seen, allowed, rows, torch.full((1, games), chance, device=DEVICE), chosen)
        assert (chosen == 1).all()
        learner.network.act(seen, None, rows, torch.full((1, games), chance, device=DEVICE), chosen)
        assert (chosen == int(3 * chance)).all()


@pytest.mark.parametrize(
    ("drill", "shares"),
    [(Barred, {"self": 0.4, "walker": 0.3, "random": 0.3}), (Race, {"self": 0.5, -16: 0.5}), (Climb, {"self": 1})],
)
def test_a_rollout_is_torchs(drill, shares):
    """Games, opponents and earlier policies included; a rounding may draw another action, from where games differ."""
    compiled, found = compile_drill(drill), []
    spec = PolicySpec.for_drill(compiled.spec, (16, 32))
    for kernels in (False, True):
        learner = noisy(spec, kernels=kernels)
        games = make_games(compiled, 48, torch.device(DEVICE))
        play = Play(games, learner, losses.gae, length=12, shares=shares, seed=3)
        play.settings(0.97, 0.9)
        if play.others:
            play.set_opponents([noisy(spec, seed=5).blob()])
        for _ in range(2):
            rollout = {name: field.cpu().numpy().copy() for name, field in vars(play.next()).items()}
        found.append({**rollout, "games": games.words()})
    wanted, kernels = found
    assert set(wanted["action"].ravel()) == set(range(spec.n_actions))
    assert np.array_equal(kernels["games"], wanted["games"])
    for name, field in wanted.items():
        assert np.allclose(kernels[name], field, atol=10 * ALIKE), name


PLAIN = Hyper(minibatch_size=96, epochs=2)
EVERYTHING = Hyper(
    minibatch_size=100,
    epochs=2,
    clip_value=True,
    normalize_advantages=False,
    max_grad_norm=0.0,
    entropy_coef=0.05,
    priority_alpha=0.5,
    target_kl=0.1,
)


@pytest.mark.parametrize(
    ("spec", "hyper", "masked"),
    [
        (SMALL, PLAIN, False),
        (SMALL, EVERYTHING, True),
        (PolicySpec((5, 16, 40, 4), "relu"), EVERYTHING, False),
        (PolicySpec((5, 32, 32, 4), separate=True), PLAIN, True),
    ],
    ids=["plain", "everything", "relu", "separate"],
)
def test_an_update_is_torchs(spec, hyper, masked):
    rollout, results = rollout_of(spec, masked), []
    for kernels in (False, True):
        normalizer = Normalizer(spec, observations=True, rewards=True)
        learner = noisy(spec, kernels=kernels, normalizer=normalizer)
        before = learner.blob()
        for _ in range(2):
            metrics = learner.update(rollout, np.arange(0), hyper)
        assert np.abs(learner.blob() - before).max() > 1e-3
        metrics.pop("gpu_time_ms", None)
        results.append((learner.blob(), metrics, learner.state()))
    (wanted, wanted_metrics, wanted_state), (found, metrics, state) = results
    assert np.abs(found - wanted).max() < 10 * ALIKE, "small slopes: Adam divides by them"
    assert metrics == pytest.approx(wanted_metrics, rel=1e-3, abs=1e-4)
    assert state["adam_step"] == wanted_state["adam_step"]
    assert not found[spec.mask() == 0].any()


def test_adams_step_is_torchs():
    learners = [noisy(SMALL, kernels=kernels) for kernels in (False, True)]
    rng = np.random.default_rng(0)
    for learner in learners:
        learner._settings(Hyper(max_grad_norm=0.4))
    for k in range(30):
        slope = torch.from_numpy((rng.standard_normal(SMALL.floats) * 10.0 ** rng.integers(-4, 2)).astype(np.float32))
        for learner in learners:
            parts = torch.arange(5, dtype=torch.float64, device=DEVICE)
            learner._step(slope.to(DEVICE), parts, 16 * (k + 1))
    torch_s, kernels = ([x.detach().cpu().double() for x in (a.weights, *a._moments.values())] for a in learners)
    for wanted, found in zip(torch_s, kernels, strict=True):
        assert torch.allclose(found, wanted, rtol=1e-5, atol=1e-7)
    assert torch.allclose(learners[1].report, learners[0].report, rtol=1e-6) and learners[1].report[1] > 1


def test_a_broken_minibatch_and_a_divergence_are_left_out():
    for name in ("obs", "advantage", "returns", "log_prob"):
        rollout = rollout_of(SMALL, False)
        getattr(rollout, name)[2, 7] = float("nan")
        learner = noisy(SMALL, kernels=True)
        hyper = Hyper(minibatch_size=48, minibatch_order="sequential", normalize_advantages=False)
        learner.update(rollout, np.arange(0), hyper)
        report = learner.report.cpu().numpy()
        assert learner.skipped == report[SKIPPED] == 1 and learner.state()["adam_step"] == 4, name
        assert np.isfinite(learner.blob()).all() and np.isfinite(report[: SKIPPED + 1]).all()
    learner = noisy(PolicySpec(SMALL.layers, "relu"), kernels=True)
    kept = {name: field[0] for name, field in vars(rollout).items() if field.ndim > 1}
    rows, chosen = torch.arange(48, device=DEVICE), torch.zeros(1, 48, dtype=torch.int32, device=DEVICE)
    learner.network.act(
        torch.full((1, 5, 48), torch.nan, device=DEVICE), None, rows, torch.rand_like(kept["value"])[None], chosen, kept
    )
    assert kept["value"].isnan().all() and kept["log_prob"].isnan().all(), "what is broken stays visible"
    learner = noisy(SMALL, kernels=True)
    metrics = learner.update(rollout_of(SMALL, False), np.arange(0), Hyper(minibatch_size=48, target_kl=1e-9))
    assert learner.state()["adam_step"] == 0 and learner.skipped == 0 and set(metrics) == {"explained_variance"}
    assert np.array_equal(learner.blob(), noisy(SMALL).blob())


def test_what_the_kernels_do_not_take_stays_with_torch():
    maze = PolicySpec.for_drill(compile_drill(drills["maze"]).spec, (32,))
    for spec, why in (
        (maze, "exactly two dense hidden layers"),
        (PolicySpec((5, 16, 4)), "exactly two dense hidden layers"),
    ):
        assert why in network.why_unsupported(spec, "f32")
        assert ResidentPPO(spec, device=DEVICE).network is None
        with pytest.raises(ValueError, match="do not support this network: it does not consist"):
            ResidentPPO(spec, device=DEVICE, kernels=True)
    wide = PolicySpec((100, 128, 128, 40))
    assert "it has 40960 weights in f32, padded; the limit is 14000" in network.why_unsupported(wide, "f32")
    assert network.why_unsupported(wide, "bf16") == "" and network.padded(33) == 64 and network.padded(3) == 16
    assert ResidentPPO(SMALL, device=DEVICE, kernels=False).network is None
    assert (ResidentPPO(SMALL, device=DEVICE).network is None) == (DEVICE == "cpu")
    taken = [name for name in drills if not network.why_unsupported(of_defaults(name), "tf32")]
    assert set(drills) - set(taken) == {"maze", "binpack", "territory", "lamp"}


def of_defaults(name):
    """The network that a drill is trained with."""
    from dshq_widget.contract.settings import of_drill

    spec = compile_drill(drills[name]).spec
    return PolicySpec.for_config(spec, of_drill(spec))


@pytest.mark.parametrize(
    "names",
    [["bandit"], pytest.param(["ball", "cartpole", "snake", "chase"], marks=pytest.mark.slow)],
    ids=["bandit", "others"],
)
def test_it_fits_a_gpu_that_need_not_be_there(names):
    """Triton carries NVIDIA's assembler: registers and shared memory are known before there is a GPU."""
    if DEVICE == "cuda":
        pytest.skip("there is a GPU here, and the tests above have compiled for it")
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks.gpu_resources", *names],
        env={key: value for key, value in os.environ.items() if key != "TRITON_INTERPRET"},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout.splitlines()[-1])["kernels"]
    assert {(row["drill"], row["kernel"]) for row in found} == {(a, b) for a in names for b in KERNELS}
    for row in found:
        assert row["shared"] <= 232_448, row  # bytes that a block of a Hopper GPU can have
        assert row["instructions"] > 100, row
