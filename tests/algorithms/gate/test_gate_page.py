"""The page's gate, js/features/gate/gate.ts, judges as Python's does."""

import numpy as np
import pytest

from dshq_widget.algorithms.gate.components import TYPES
from dshq_widget.algorithms.gate.gate import SimulationGate, sends
from dshq_widget.algorithms.gate.settings import GateSettings
from dshq_widget.algorithms.gate.shape import CHUNKS
from tests.harness.browser.page_code import in_node

STATES = 300
EXACT = {"rtol": 0, "atol": 1e-12}
WEIGHTS = ("survival_weight", "disruption_weight", "location_weight")


def some_state(rng: np.random.Generator) -> dict:
    """A state with any number of living units, crowded or not, and any settings."""
    spread = int(rng.choice([3, 60, CHUNKS]))

    def units(n: int) -> list[int]:
        chunks = (rng.integers(0, CHUNKS) + rng.integers(0, spread, n)) % CHUNKS
        return np.where(rng.random(n) < rng.choice([0, 0.3, 1], p=[0.5, 0.4, 0.1]), -1, chunks).tolist()

    ticks = int(rng.integers(0, 600))
    return {
        "workers": units(8),
        "protectors": units(3),
        "queen_energy": float(np.float32(rng.choice([0, 14.99, 15, 20, 24.5, 25, 60.25, 100]))),
        "spawned_at": rng.integers(0, ticks + 1, CHUNKS).tolist(),
        "ticks": ticks,
        "chunk": int(rng.integers(0, CHUNKS)),
        "kind": int(rng.integers(0, 2)),
        "settings": {
            **{key: float(rng.random()) for key in WEIGHTS},
            "threshold": float(rng.uniform(-1, 1)),
            "mode": "gated",
            "epsilon": float(rng.choice([0, 0.07, 0.2])),
        },
    }


@pytest.fixture(scope="module")
def judged() -> list[tuple[dict, dict]]:
    rng = np.random.default_rng(7)
    states = [some_state(rng) for _ in range(STATES)]
    return list(zip(states, in_node("judgeStates", states, file="features/gate/tests/judge_states"), strict=True))


def python_gate(state: dict) -> tuple[SimulationGate, dict]:
    given = dict(state["settings"])
    epsilon = given.pop("epsilon")
    gate = SimulationGate(GateSettings(**given))
    gate.epsilon = epsilon
    seconds = state["ticks"] - np.array(state["spawned_at"], np.float64)
    return gate, {key: state[key] for key in ("workers", "protectors", "queen_energy")} | {
        "seconds_since_spawn": seconds
    }


def test_a_proposal(judged):
    for state, page in judged:
        gate, observation = python_gate(state)
        result = gate.evaluate(observation, state["chunk"], TYPES[state["kind"]])
        np.testing.assert_allclose(page["components"], list(result.components.values()), **EXACT)
        np.testing.assert_allclose([page["expected"], page["signal"]], [result.R_expected, result.gate_signal], **EXACT)
        assert page["sends"] == sends(result.gate_signal)
    assert 0.05 < np.mean([page["sends"] for _, page in judged]) < 0.95


def test_every_candidate(judged):
    for state, page in judged:
        gate, observation = python_gate(state)
        result = gate.evaluate_all(observation)
        np.testing.assert_allclose(page["all"], result.R_expected.ravel(), **EXACT)
        np.testing.assert_allclose(page["signals"], result.gate_signal.ravel(), **EXACT)


def test_survival_alone_never_sends():
    """.4 + .2 - .6 is more than nothing in doubles, and no SEND."""
    state = some_state(np.random.default_rng(1)) | {
        "workers": [-1] * 8,
        "protectors": [-1] * 3,
        "queen_energy": 100.0,
        "spawned_at": [0] * CHUNKS,
        "ticks": 400,
        "chunk": 190,
    }
    state["settings"] = dict(zip(WEIGHTS, (0.4, 0.5, 0.1), strict=True)) | {
        "threshold": 0.6,
        "epsilon": 0.2,
        "mode": "gated",
    }
    (page,) = in_node("judgeStates", [state], file="features/gate/tests/judge_states")
    assert page["signal"] > 0
    assert not page["sends"]
