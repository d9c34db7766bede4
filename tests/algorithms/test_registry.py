"""Any algorithm may train: a toy one is known by one line of the registry, and needs nothing else."""

import dataclasses
from types import SimpleNamespace

import pytest

from dshq_widget import algorithms, drills
from dshq_widget.algorithms.measured import Measured
from dshq_widget.cli import arguments, bench, doctor, main, run_plan
from dshq_widget.cli.train import train
from dshq_widget.contract.metrics import metric_named
from dshq_widget.contract.sections import Section
from dshq_widget.contract.setting import RESTART, ConfigError, setting
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.policy import checkpoint
from dshq_widget.training.run.config import RunConfig
from dshq_widget.training.trainer import Trainer
from tests.harness.games.random_search import ALGORITHM
from tests.harness.processes.faults import until

pytestmark = pytest.mark.usefixtures("learners_in_threads")

SEARCH = {"num_envs": 64, "rollout_length": 100, "hidden_sizes": (8,), "learning_rate": 0.3}


@pytest.fixture(autouse=True)
def known(monkeypatch):
    monkeypatch.setitem(algorithms.algorithms, ALGORITHM.name, ALGORITHM)


def judged_by(drill: str, name: str) -> set[str]:
    """The keys of the category EVALUATOR in a run's metrics, besides an algorithm's own."""
    small = {"dreamer": {"games": 8, "batch": 4, "sequence": 8, "prefill": 64, "starts": 8, "horizon": 2}}
    own, plain = small if name == "dreamer" else {}, {} if name in ("dreamer", "gate") else SEARCH | {"workers": 0}
    with Trainer(drill, algorithm=name, algorithm_settings=own, evaluate_seconds=0, **plain) as trainer:
        trainer.start()
        until(lambda: "episodes" in trainer.metrics)
        mine = algorithms.algorithms[name].metrics
        known = {key: metric_named(key) for key in trainer.metrics if key not in mine}
    return {key for key, metric in known.items() if metric and metric.category == "EVALUATOR"}


@pytest.mark.parametrize("name", ["ppo", "spo", pytest.param("dreamer", marks=pytest.mark.slow), "random_search"])
def test_every_algorithm_is_evaluated_under_the_same_keys(name):
    assert judged_by("bandit", name) == {"evaluated_return", "solved", "episodes", "duration_ms"}


def test_the_gate_is_evaluated_under_the_same_keys():
    """On its own drill, which has no target and so is never solved."""
    assert judged_by("territory", "gate") == {"evaluated_return", "episodes", "duration_ms"}


def test_no_algorithm_is_left_out_above():
    assert set(algorithms.algorithms) == {"ppo", "spo", "dreamer", "gate", "random_search"}


def test_names_of_the_sources_are_accepted():
    read = {name: each.read for name, each in algorithms.algorithms.items()}
    assert read["gate"]({"reward_threshold": 0.7}).threshold == 0.7
    assert read["spo"]({"critic-lr": 0.01}).critic_learning_rate == 0.01
    found = read["dreamer"]({"num_envs": 8, "seq_len": 8, "batch_size": 4, "safety_margin": 9})
    assert (found.games, found.sequence, found.batch, found.margin) == (8, 8, 4, 9)
    assert read["dreamer"]({"train_ratio": 32}).ratio == 32
    with pytest.raises(ConfigError, match="'replay_capacity' in section dreamer: give ring, which counts the frames"):
        read["dreamer"]({"replay_capacity": 1024})
    parsed = arguments.parser([train]).parse_args(["train", "territory", "--gate-reward-threshold", "0.7"])
    assert getattr(parsed, "gate.threshold") == "0.7"


def test_a_file_names_its_algorithm(tmp_path):
    with Trainer("bandit", algorithm="random_search", **SEARCH) as trainer:
        path = trainer.save(tmp_path / "search.dshq")
    with Trainer(path) as again:
        assert again.algorithm == "random_search"
    with Trainer(path, algorithm="ppo") as again:
        assert again.algorithm == "ppo"


@dataclasses.dataclass(frozen=True)
class Own(Section):
    """Settings of a toy."""

    step: float = setting(0.5, "float", "Step", RESTART, "toy", lo=0.0, hi=1.0)
    """Size of a step."""


def test_settings_of_its_own_come_from_the_file_flags_and_keywords(monkeypatch, tmp_path, capsys):
    toy = dataclasses.replace(
        ALGORITHM, name="toy", settings=Own, refuses={"cuda": "toy has no GPU: leave out --device"}
    )
    monkeypatch.setitem(algorithms.algorithms, "toy", toy)
    with Trainer("bandit", algorithm="toy", algorithm_settings={"toy": {"step": 0.25}}, **SEARCH) as trainer:
        path = trainer.save(tmp_path / "toy.dshq")
    assert checkpoint.load(path).algorithm_settings == {"step": 0.25}
    with Trainer(path) as again:
        assert again.algorithm_settings == {"step": 0.25}
        with pytest.raises(ValueError, match="toy has no GPU: leave out --device"):
            again.set_hyper(device="cuda")
    (tmp_path / "run.yaml").write_text("run: {drill: bandit, algorithm: toy}\ntoy: {step: 0.75}")
    common = ["train", "--config", str(tmp_path / "run.yaml")]
    for more, step in ([], 0.75), (["--toy-step", "0.125"], 0.125):
        options = arguments.parser([train]).parse_args([*common, *more])
        plan = run_plan.of(options)
        assert toy.read(plan.own["toy"]) == Own(step=step)
    (tmp_path / "run.yaml").write_text("run: {drill: bandit, algorithm: toy}\ntoy: {stepp: 0.75}")
    assert main.main(common) == 2
    assert "unknown setting 'stepp' in section toy; did you mean 'step'?" in capsys.readouterr().err


def test_an_algorithm_that_is_not_known_is_a_sentence():
    with pytest.raises(
        ValueError,
        match="no algorithm 'pp0'. Known algorithms: ppo, spo, gate, dreamer, random_search. Did you mean 'ppo'",
    ):
        Trainer("bandit", algorithm="pp0")


def test_a_drills_own_opponents_leave_out_earlier_policies_where_an_algorithm_has_no_league():
    ball = compile_drill(drills.get("ball"))
    assert "pool" in RunConfig(ball, algorithms.get("ppo")).values.opponents
    lonely = dataclasses.replace(algorithms.get("ppo"), refuses={"league": "none here"})
    shares = RunConfig(ball, lonely).values.opponents
    assert "pool" not in shares and sum(shares.values()) == pytest.approx(1)


def test_doctor_and_bench_ask_every_algorithm(monkeypatch):
    toy = dataclasses.replace(
        ALGORITHM,
        name="toy",
        checks={"toys": lambda: (False, "no cube", "Bring a cube.")},
        benches={"cpu": lambda drill, seconds: Measured({f"{drill.name}_turns_per_second": seconds})},
    )
    monkeypatch.setitem(algorithms.algorithms, "toy", toy)
    found = {row["name"]: row for row in doctor.checks()}
    assert found["toys"] == {"name": "toys", "ok": False, "value": "no cube", "advice": "Bring a cube."}
    assert "games at once" in found["training"]["value"], "what ppo says"
    monkeypatch.setattr(algorithms, "algorithms", {"toy": toy, ALGORITHM.name: ALGORITHM})
    for name in ("gemm", "copy", "simulation", "inference"):
        monkeypatch.setattr(bench, name, lambda *_: 1.0)
    monkeypatch.setattr(bench, "NaiveGame", lambda drill: SimpleNamespace(rate=lambda games, seconds: 0.5))
    said = bench.bench("bandit", 3.0)
    assert said["rates"] == {
        "sim_ticks_per_second_per_core": 1.0,
        "inferences_per_second_per_core": 1.0,
        "bandit_turns_per_second": 3.0,
    }


def test_what_no_algorithm_does_is_a_sentence(monkeypatch, capsys):
    monkeypatch.setattr(algorithms, "algorithms", {ALGORITHM.name: ALGORITHM})
    assert main.main(["ingest", "bandit"]) == 2
    assert "no algorithm that is known here learns from frames" in capsys.readouterr().err
    for name, value in {"WORLD_SIZE": "2", "RANK": "1", "LOCAL_RANK": "1", "TORCHELASTIC_RUN_ID": "test"}.items():
        monkeypatch.setenv(name, value)
    assert main.main(["train", "bandit", "--algorithm", ALGORITHM.name, "--joint", "true"]) == 2
    assert "random_search learns in one process: leave out --joint" in capsys.readouterr().err
