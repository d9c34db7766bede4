"""WebGPU's network, learning and play in a real browser against the processor's, on the software adapter."""

import dataclasses
from collections.abc import Iterator

import numpy as np
import pytest

from dshq_kernels.play.gae import gae
from dshq_kernels.play.rollout import Samples
from dshq_widget.algorithms.ppo.learners.fused import FusedPPO
from dshq_widget.algorithms.ppo.learners.learner import Hyper
from dshq_widget.drill.compiled import CompiledDrill, compile_drill
from dshq_widget.drill.declaration import rule
from dshq_widget.drills import drills
from dshq_widget.policy.network import PolicySpec
from dshq_widget.policy.policy import Policy
from tests.harness.browser.compute import ComputePage, packed
from tests.harness.games.samples import make_samples
from tests.harness.games.toy_drills import Barred, Race

pytestmark = pytest.mark.browser

FORWARD = 1e-5
"""Largest difference of a value or a log-probability from the processor's."""
GRADIENT = 1e-4
"""Largest difference of a slope, in parts of the largest one; of an advantage, absolute."""
WEIGHTS = 1e-4
"""Largest difference of a weight after six steps of Adam at a rate of 1e-3."""
SMALL = PolicySpec((28, 40, 24, 31))
HYPER = Hyper(learning_rate=1e-3, value_coef=0.7, entropy_coef=0.02, max_grad_norm=0.5)
NAMES = ("learning_rate", "clip_epsilon", "clip_value", "value_coef", "entropy_coef", "max_grad_norm", "target_kl")
PARTS = ("loss_policy", "loss_value", "entropy", "approx_kl", "clip_fraction")


@pytest.fixture(scope="module")
def page(chromium) -> Iterator[ComputePage]:
    page = ComputePage(chromium)
    yield page
    page.close()


def settings(hyper: Hyper) -> dict:
    return {name: getattr(hyper, name) for name in (*NAMES, "normalize_advantages")}


def weights_of(spec: PolicySpec, seed: int = 0) -> np.ndarray:
    """Weights of a policy that is far from uniform."""
    noise = np.random.default_rng(seed).standard_normal(spec.floats) * 0.2 * spec.mask()
    return (spec.initial(np.random.default_rng(seed)) + noise).astype(np.float32)


def given(samples: Samples) -> dict:
    """The same samples as the page takes them: a row of 16 lanes is 16 samples."""
    planes = {name: getattr(samples, name).astype(np.float32).ravel() for name in ("action", "log_prob", "value")}
    planes |= {"advantage": samples.advantage.ravel(), "returns": samples.returns.ravel()}
    masks = {"mask": samples.mask.transpose(0, 2, 1).ravel()} if samples.mask.size else {}
    return {"observations": samples.obs.transpose(0, 2, 1).ravel(), **planes, **masks}


def learner_for(page: ComputePage, spec: PolicySpec, samples: Samples, weights: np.ndarray, **options) -> None:
    network = {"layers": list(spec.layers), "activation": spec.activation, "data": weights}
    if spec.separate:
        network["mask"] = spec.mask().astype(np.float32)
    count = samples.action.size
    sizes = {"samples": count, "minibatchSize": count, "epochs": 1, "masked": bool(samples.mask.size)}
    page.make(network=network, **(sizes | options))
    page.ask("write", given(samples))


@pytest.mark.parametrize(
    ("activation", "masked", "clip_value", "separate"),
    [
        pytest.param("tanh", False, False, False, marks=pytest.mark.slow),
        ("relu", True, True, False),
        pytest.param("tanh", True, False, False, marks=pytest.mark.slow),
        pytest.param("tanh", False, True, True, marks=pytest.mark.slow),
    ],
)
def test_loss_and_gradient_are_the_processors(page, activation, masked, clip_value, separate):
    spec = dataclasses.replace(SMALL, activation=activation, separate=separate)
    samples, weights = make_samples(40, spec, masked=masked), weights_of(spec, 3)
    hyper = dataclasses.replace(HYPER, clip_value=clip_value, learning_rate=0.0)
    learner = FusedPPO(spec)
    learner.load(weights)
    wanted, parts = learner.gradient(samples, np.arange(40), hyper)
    learner_for(page, spec, samples, weights)
    found = page.ask("update", settings(hyper))
    for name in PARTS:
        assert found[name] == pytest.approx(parts[name], rel=1e-4, abs=1e-6), name
    assert found["explained_variance"] == pytest.approx(
        1 - np.var(samples.returns - samples.value) / np.var(samples.returns), abs=1e-5
    )
    slope = page.ask("readSlope")
    wanted = wanted * spec.mask()
    assert np.abs(slope - wanted).max() <= GRADIENT * np.abs(wanted).max()
    assert found["grad_norm"] == pytest.approx(np.linalg.norm(wanted), rel=1e-4)
    assert np.array_equal(page.ask("readWeights"), weights), "a rate of 0 changes nothing"


@pytest.mark.parametrize("max_grad_norm", [pytest.param(0.0, marks=pytest.mark.slow), 0.05])
def test_steps_of_adam_are_the_processors(page, max_grad_norm):
    """Six minibatches, each of its own samples, in one command buffer."""
    samples, weights = make_samples(96, SMALL), weights_of(SMALL, 5)
    hyper = dataclasses.replace(HYPER, normalize_advantages=False, max_grad_norm=max_grad_norm, minibatch_size=512)
    units = np.random.default_rng(1).permutation(96).reshape(3, 32)
    learner = FusedPPO(SMALL)
    learner.load(weights)
    norms = [learner.update(samples, some, hyper)["grad_norm"] for some in (*units, *units)]
    learner_for(page, SMALL, samples, weights, minibatchSize=512, epochs=2)
    order = (units.ravel()[:, None] * 16 + np.arange(16)).ravel().astype(np.uint32)
    passes = page.page.evaluate("window.passes")
    found = page.ask("update", settings(hyper), 2, np.tile(order, 2))
    assert page.page.evaluate("window.passes") == passes + 1, "one pass, and so one command buffer"
    assert found["minibatches"] == 6 and found["skipped"] == 0 and not found["stopped"]
    assert found["grad_norm"] == pytest.approx(np.mean(norms), rel=1e-3)
    apart = np.abs(page.ask("readWeights") - learner.blob())
    assert np.abs(learner.blob() - weights).max() > 3e-3, "it did learn"
    assert apart.max() <= WEIGHTS


@pytest.mark.slow
def test_it_continues_from_an_optimisers_state(page):
    """Two updates, and one with another learner that was given what the first one led to."""
    samples, weights = make_samples(32, SMALL), weights_of(SMALL, 5)
    hyper = settings(dataclasses.replace(HYPER, normalize_advantages=False))
    learner_for(page, SMALL, samples, weights)
    page.ask("update", hyper)
    half = page.ask("readState")
    assert np.abs(half["first"]).max() > 0 and half["second"].min() >= 0 < half["second"].max()
    told = page.ask("update", hyper)
    assert told["mean_return"] == pytest.approx(samples.returns.mean(), abs=1e-5)
    whole = page.ask("readState")
    learner_for(page, SMALL, samples, half["weights"])
    page.ask("writeMoments", half["first"], half["second"], 1)
    page.ask("update", hyper)
    again = page.ask("readState")
    assert np.abs(whole["weights"] - half["weights"]).max() > 5e-4, "it did learn"
    for name, values in whole.items():
        assert np.abs(again[name] - values).max() <= 1e-6, name


@pytest.mark.slow
def test_time_is_the_gpus_where_it_has_a_clock(page):
    samples = make_samples(16, SMALL)
    learner_for(page, SMALL, samples, weights_of(SMALL))
    time = page.ask("update", settings(HYPER))["gpu_time_ms"]
    assert time > 0 if page.page.evaluate("window.timed") else time is None


@pytest.mark.slow
def test_an_update_stops_at_its_divergence(page):
    samples = make_samples(64, SMALL)
    learner_for(page, SMALL, samples, weights_of(SMALL, 1), minibatchSize=256, epochs=4)
    hyper = dataclasses.replace(HYPER, learning_rate=0.05, target_kl=0.02)
    found = page.ask("update", settings(hyper), 4)
    assert found["stopped"] and found["minibatches"] < 16
    found = page.ask("update", settings(dataclasses.replace(hyper, target_kl=1e-9)), 4)
    assert found["stopped"] and found["minibatches"] == 0
    before = page.ask("readWeights")
    page.ask("update", settings(dataclasses.replace(hyper, target_kl=1e-9)), 1)
    assert np.array_equal(page.ask("readWeights"), before), "nothing is applied once it has stopped"


@pytest.mark.slow
def test_what_is_not_finite_is_left_out(page):
    samples, weights = make_samples(16, SMALL), weights_of(SMALL)
    samples.returns[:] = 1e38
    learner_for(page, SMALL, samples, weights)
    found = page.ask("update", settings(HYPER))
    assert found["skipped"] == 1 and found["minibatches"] == 0
    assert np.array_equal(page.ask("readWeights"), weights)
    page.ask("write", given(make_samples(16, SMALL)))
    assert page.ask("update", settings(HYPER))["minibatches"] == 1
    assert np.isfinite(page.ask("readWeights")).all()


def rules_of(drill: CompiledDrill, opponents: dict[str, int], length: int, seed: int, ticks: int = 0) -> dict:
    """Games that begin with seeds from `seed` on."""
    n = sum(opponents.values())
    starts = {"keys": np.arange(seed, seed + n, dtype=np.uint32), "ticks": np.full(n, ticks, np.uint32)}
    spec = drill.spec.to_json()
    return {"wgsl": drill.wgsl, "spec": spec, "opponents": opponents, "length": length, "starts": starts}


def play(
    page: ComputePage, drill: CompiledDrill, policy: Policy, opponents: dict[str, int], length: int, ticks: int = 0
) -> dict:
    rules = rules_of(drill, opponents, length, 7, ticks)
    network = {"layers": list(policy.spec.layers), "activation": policy.spec.activation, "data": policy.weights}
    page.make(network=network, games=rules, minibatchSize=16, epochs=1, seed=3)
    return page.ask("rollout", {"gamma": 0.97, "gae_lambda": 0.9})


def replay(
    drill: CompiledDrill, policy: Policy, actions: np.ndarray, opponent: str, side: int, seed: int, gamma: float
) -> dict:
    """What the processor says of `actions` [T, rows] of the sides from `side` on in games seeded from `seed`."""
    game, spec = drill.game(), drill.spec
    sides = 1 if opponent != "self" else spec.sides
    learning = slice(side, side + sides)
    games = actions.shape[1] // sides
    tiles = game.new(games // 16, seed, practice=True)

    def rows(values: np.ndarray) -> np.ndarray:
        """`[tiles, sides, n, 16]` as `[rows, n]`."""
        return np.moveaxis(values, 1, 0)[learning].transpose(0, 1, 3, 2).reshape(-1, values.shape[2])

    def potentials(values: np.ndarray) -> np.ndarray:
        return rows(values) * [term.kind == "potential" for term in spec.terms]

    weights = np.array([term.weight for term in spec.terms])
    kept: dict[str, list[np.ndarray]] = {}
    before = potentials(game.terms(tiles))
    for chosen in actions:
        step = {"observations": rows(game.observe(tiles)), "mask": rows(game.mask(tiles))}
        if opponent != "self":
            tiles["action"] = game.actions(tiles, opponent)
        tiles["action"][:, learning] = chosen.reshape(sides, -1, 16).swapaxes(0, 1)
        game.decide(tiles)
        game.tick(tiles, spec.action_repeat)
        terms, (terminated, _) = game.terms(tiles), game.status(tiles)
        late = (tiles["ticks"] >= spec.time_limit) & ~terminated
        paid = rows(terms) + potentials(terms) * (gamma - 1) - before
        step["reward"], step["paid"] = paid @ weights, paid * weights
        step["last"] = rows(game.observe(tiles))
        game.reset(tiles, terminated | late)
        over = np.tile((terminated | late).ravel(), sides)
        before = np.where(over[:, None], potentials(game.terms(tiles)), potentials(terms))
        step |= {"terminated": np.tile(terminated.ravel(), sides), "truncated": np.tile(late.ravel(), sides)}
        for name, values in step.items():
            kept.setdefault(name, []).append(values)
    found = {name: np.stack(values) for name, values in kept.items()}
    return found | {"following": policy.forward(rows(game.observe(tiles)))[1]}


@pytest.mark.parametrize(
    ("drill", "opponents", "length"),
    [
        pytest.param(Race, {"self": 64}, 40, id="two sides, potentials, truncated", marks=pytest.mark.slow),
        pytest.param(
            Race, {"self": 32, "walker": 32, "random": 64}, 40, id="several opponents", marks=pytest.mark.slow
        ),
        pytest.param(Barred, {"walker": 64}, 40, id="masked, against a script from both sides"),
        pytest.param(drills["cartpole"], {"self": 64}, 32, id="cartpole"),
    ],
)
def test_a_rollout_is_what_the_processor_makes_of_its_actions(page, drill, opponents, length):
    drill = compile_drill(drill)
    spec = PolicySpec.for_drill(drill.spec, (16, 16))
    policy = Policy(spec.layers, spec.activation, weights_of(spec, 2))
    metrics, found = play(page, drill, policy, opponents, length), page.samples()
    count = found["action"].size
    begin, seed, told = 0, 7, Told(np.zeros(len(drill.spec.terms)))
    for opponent, games in opponents.items():
        both = opponent == "self" or drill.spec.sides == 1
        for side, playing in enumerate([games] if both else [games // 2, games // 2]):
            rows = playing * (drill.spec.sides if opponent == "self" else 1)
            end = begin + rows * length
            part = {
                name: values.reshape(count, -1)[begin:end].reshape(length, rows, -1) for name, values in found.items()
            }
            agree(drill, policy, part, opponent, side, playing, seed, told)
            begin, seed = end, seed + playing
    assert metrics["agent_steps"] == begin == count
    assert metrics["episodes"] == told.episodes > 0
    assert metrics["returns"] == len(told.returns)
    for name, value in (("mean", np.mean), ("min", np.min), ("max", np.max)):
        assert metrics[f"return_{name}"] == pytest.approx(value(told.returns), abs=1e-4), name
    assert list(metrics["rewards"].values()) == pytest.approx(told.paid.tolist(), rel=1e-4, abs=1e-3)


@dataclasses.dataclass
class Told:
    """What the metrics of a rollout should say."""

    paid: np.ndarray
    """To learning sides, by each reward term."""
    episodes: int = 0
    returns: list[float] = dataclasses.field(default_factory=list)
    """Of learning sides, of the episodes that ended."""


def agree(
    drill: CompiledDrill, policy: Policy, found: dict, opponent: str, side: int, games: int, seed: int, told: Told
) -> None:
    """Compare samples of games against one opponent with the processor's; adds what was paid to `told`."""
    mask = found.pop("mask")
    seen = found.pop("observations")
    planes = {name: values[..., 0] for name, values in found.items()}
    actions = planes["action"].astype(np.int32)
    wanted = replay(drill, policy, actions, opponent, side, seed, 0.97)
    assert np.abs(seen - wanted["observations"]).max() <= 1e-5
    terminated, truncated = wanted["terminated"], wanted["truncated"]
    assert np.array_equal(planes["ended"] == 1, terminated) and np.array_equal(planes["ended"] == 2, truncated)
    assert np.abs(planes["reward"] - wanted["reward"]).max() <= 1e-4
    allowed = None
    if drill.spec.masked:
        allowed = mask >> np.arange(drill.spec.n_actions, dtype=np.uint32) & 1
        assert np.array_equal(allowed, wanted["mask"])
        assert np.take_along_axis(allowed, actions[..., None], -1).all(), "it takes only what it may"

    logits, value = policy.logits(seen, allowed), policy.forward(seen)[1]
    log_probs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    taken = np.take_along_axis(log_probs, actions[..., None], -1)[..., 0]
    assert np.abs(planes["log_prob"] - taken).max() <= FORWARD
    assert np.abs(planes["value"] - value).max() <= FORWARD
    expected = np.exp(log_probs).sum((0, 1))
    counted = np.bincount(actions.ravel(), minlength=policy.spec.n_actions)
    assert (np.abs(counted - expected) < 5 * np.sqrt(expected + 1)).all(), "draws are those of the policy"

    rewards, following = (wanted[name].astype(np.float32) for name in ("reward", "following"))
    final = policy.forward(wanted["last"].astype(np.float32))[1].astype(np.float32)
    arrays = rewards, value.astype(np.float32), following, final, terminated, truncated
    advantages, returns = gae(*arrays, 0.97, 0.9)
    assert np.abs(planes["advantage"] - advantages).max() <= GRADIENT
    assert np.abs(planes["returns"] - returns).max() <= GRADIENT
    over, running = terminated | truncated, np.zeros(actions.shape[1])
    for reward, ended in zip(wanted["reward"], over, strict=True):
        running += reward
        told.returns += running[ended].tolist()
        running[ended] = 0
    told.episodes += int(over[:, :games].sum())
    told.paid += wanted["paid"].sum((0, 1))


class Late(Race):
    """Its episodes begin near their end."""

    @rule
    def reset(s, i):
        s.x[0, i] = 0.0
        s.x[1, i] = 0.0
        s.ticks[i] = 24


def test_a_side_has_only_so_many_last_observations(page):
    drill = compile_drill(Late)
    spec = PolicySpec.for_drill(drill.spec, (16,))
    play(page, drill, Policy(spec.layers, spec.activation, weights_of(spec, 2)), {"self": 16}, 20, ticks=24)
    found, per_episode = page.samples(), -(-drill.spec.time_limit // drill.spec.action_repeat)
    late = found["slot"][found["ended"] == 2]
    assert late.size > 2 * 32 and late.max() == (20 - 1) // per_episode


@pytest.mark.slow
def test_weights_of_rewards_may_change(page):
    drill = compile_drill(drills["cartpole"])
    spec = PolicySpec.for_drill(drill.spec, (16,))
    policy = Policy(spec.layers, spec.activation, weights_of(spec, 2))
    play(page, drill, policy, {"self": 16}, 4)
    assert set(page.samples()["reward"]) == {1.0}
    (term,) = drill.spec.terms
    page.ask("setRewards", {term.name: 2.5})
    page.ask("rollout", {"gamma": 0.97, "gae_lambda": 0.9})
    assert set(page.samples()["reward"]) == {2.5}


@pytest.mark.slow
def test_it_learns(page):
    """Play and learning together: CartPole's pole stands longer."""
    drill = compile_drill(drills["cartpole"])
    spec = PolicySpec.for_drill(drill.spec, (32, 32))
    rules = rules_of(drill, {"self": 128}, 32, 1)
    network = {"layers": list(spec.layers), "activation": "tanh", "data": spec.initial(np.random.default_rng(0))}
    page.make(network=network, games=rules, minibatchSize=1024, epochs=2)
    hyper = settings(Hyper(learning_rate=3e-3, entropy_coef=0.0, target_kl=0.02))
    played = []
    for _ in range(27):
        played.append(page.ask("rollout", {"gamma": 0.95, "gae_lambda": 0.9}))
        page.ask("update", hyper, 2)
    early, late = (sum(rollout["episodes"] for rollout in part) for part in (played[:3], played[-3:]))
    assert early > 300 and late < early / 3, "fewer episodes end in as many decisions"


@pytest.mark.slow
def test_the_probe_measures(page):
    network = packed({"layers": list(SMALL.layers), "activation": "tanh", "data": weights_of(SMALL)})
    ask = "given => probe(given)"
    slow, fast = (page.page.evaluate(ask, [network, 10_000, rate, 0.1]) for rate in (1.0, 1e12))
    assert slow["wins"] == "webgpu" and fast["wins"] == "wasm"
    assert slow["webgpu"] > 100 and (slow["wasm"], fast["wasm"]) == (1.0, 1e12)


@pytest.mark.slow
def test_what_it_cannot_do_is_said(page):
    weights = np.zeros(SMALL.floats, np.float32)
    network = {"layers": list(SMALL.layers), "activation": "tanh", "data": weights}
    sizes = {"samples": 64, "minibatchSize": 64, "epochs": 1}
    ball = compile_drill(drills["ball"])
    games = {"wgsl": ball.wgsl, "spec": ball.spec.to_json(), "opponents": {"self": 64}, "length": 2}
    wide = {"layers": [4, 2], "activation": "tanh", "data": np.zeros(10, np.float32)}
    for options, said in (
        ({"network": network | {"layers": [28, -2, -2, -1, -1, -1, 8, 31]}, **sizes}, "grid or pairs"),
        ({"network": network | {"data": weights[:-1]}, **sizes}, f"need {SMALL.floats} weights"),
        ({"network": network, **sizes, "minibatchSize": 48}, "do not divide 64"),
        ({"network": network, **sizes, "samples": 1 << 28}, "this device allows"),
        ({"network": network, **sizes, "games": games | {"opponents": {"nobody": 64}}}, "self, random, chaser"),
        ({"network": wide, **sizes, "games": games}, "28 observations and 31 outputs"),
    ):
        with pytest.raises(Exception, match=said):
            page.make(**options)
    page.make(network=network, **sizes)
    for method, arguments, said in (
        ("rollout", ({"gamma": 1, "gae_lambda": 1},), "no games"),
        ("update", (settings(HYPER), 1, np.zeros(63, np.uint32)), "1 to 1 times, got 63"),
        ("write", ({"observations": np.zeros(3, np.float32)},), "wanted 1792 numbers as observations"),
        ("writeWeights", (weights[:-1],), f"Wanted {SMALL.floats} weights"),
        ("writeMoments", (weights, weights[:-1], 1), f"Wanted {SMALL.floats} numbers as a moment"),
    ):
        with pytest.raises(Exception, match=said):
            page.ask(method, *arguments)
