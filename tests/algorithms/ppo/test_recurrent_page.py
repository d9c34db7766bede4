"""The page's memory, js/match/network/memory.ts, is Python's."""

import numpy as np
import pytest

from dshq_widget.policy.network import PolicySpec
from dshq_widget.policy.recurrent import RecurrentNetwork
from tests.harness.browser.page_code import in_node

STEPS = 12
SHAPES = [((2, 32, -32, 4), "tanh"), ((5, 12, 9, -7, 6), "relu"), ((3, 4, -1, 3), "tanh")]


def episode(k: int, layers: tuple[int, ...], activation: str) -> dict:
    rng = np.random.default_rng(k)
    weights = rng.normal(0, 0.5, PolicySpec(layers).floats).astype(np.float32)
    seen = rng.normal(0, 1, (STEPS, layers[0])).astype(np.float32)
    return {
        "layers": list(layers),
        "activation": activation,
        "weights": weights.tolist(),
        "observations": seen.tolist(),
        "action": int(rng.integers(0, layers[-1] - 1)),
    }


@pytest.fixture(scope="module")
def played() -> list[tuple[dict, list[dict]]]:
    episodes = [episode(k, *shape) for k, shape in enumerate(SHAPES)]
    return list(zip(episodes, in_node("rememberEpisodes", episodes, file="tests/harness/remember"), strict=True))


def log_probs(logits: np.ndarray) -> np.ndarray:
    return logits - logits.max() - np.log(np.exp(logits - logits.max()).sum())


def test_decision_after_decision_says_the_same(played):
    for given, steps in played:
        spec = PolicySpec(tuple(given["layers"]), given["activation"])
        network = RecurrentNetwork(spec, np.array(given["weights"], np.float32))
        state = network.fresh()
        for seen, found in zip(given["observations"], steps, strict=True):
            logits, value, state = network.step(np.array(seen, np.float32), state)
            assert np.allclose(found["probabilities"], np.exp(log_probs(logits)), atol=2e-6)
            assert found["value"] == pytest.approx(float(value), abs=1e-5)
            assert np.allclose(found["state"], state, atol=2e-6)


def test_saliency_is_the_derivative(played):
    """Of the chosen action's log-probability by each observation, the state before being given: by differences."""
    for given, steps in played:
        spec = PolicySpec(tuple(given["layers"]), given["activation"])
        if given["activation"] == "relu":
            continue  # a kink may lie within a difference
        network = RecurrentNetwork(spec, np.array(given["weights"], np.float32))
        network._parts = [(w.astype(np.float64), b.astype(np.float64)) for w, b in network._parts]
        state = network.fresh().astype(np.float64)
        for seen, found in zip(given["observations"], steps, strict=True):
            at = np.array(seen)
            for k in range(len(at)):
                step = np.eye(len(at))[k] * 1e-5
                ahead, behind = (log_probs(network.step(at + s * step, state)[0]) for s in (1, -1))
                slope = (ahead - behind)[given["action"]] / 2e-5
                assert found["slopes"][k] == pytest.approx(slope, abs=1e-4)
            state = network.step(at, state)[2]
