"""A sweep: what is tried, what is kept, how it continues, and what it says."""

import dataclasses
import errno
import json
import math
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from dshq_widget.cli import main
from dshq_widget.contract.setting import ConfigError
from dshq_widget.env.batch import compiled
from dshq_widget.system import locks
from dshq_widget.training import sweep as sweeps
from dshq_widget.training.sweep import sweep
from dshq_widget.training.sweep_results import MOST_BYTES, SweepResult, SweepRun, interval, t95
from dshq_widget.training.sweep_space import Choices, Range, parse, read

optuna = pytest.importorskip("optuna", reason="the extra `sweep` is not installed (Optuna)")

SPACE = {"learning_rate": (1e-4, 1e-2, "log"), "gamma": [0.98, 0.995]}
SMALL = {"num_envs": 64, "rollout_length": 8, "minibatch_size": 256, "hidden_sizes": (16,), "workers": 0}


@pytest.fixture
def trained(monkeypatch):
    """Trainings that take no time; best at a learning rate of 0.001 and with the larger gamma."""
    made = []

    def train(game, algorithm, hyper, budget, metric, progress):
        made.append(dict(hyper))
        value = hyper.get("gamma", 0.9) - abs(math.log10(hyper.get("learning_rate", 1e-3)) + 3) + 0.01 * hyper["seed"]
        curve = {"agent_steps": [100, 200, 300], "seconds": [1.0, 2.0, 3.0], metric: [0.0, value / 2, value]}
        return {"value": value, "error": "", "metrics": {"agent_steps": 300, metric: value}, "curve": curve}

    monkeypatch.setattr(sweeps, "_train", train)
    return made


def test_optuna_looks_where_it_is_good_and_every_seed_is_trained(trained, tmp_path):
    result = sweep("bandit", SPACE, trials=25, seeds=2, seconds=1, directory=tmp_path, progress=False, num_envs=64)
    assert len(trained) == len(result.runs) == 50 and len(result.settings) == 25
    assert {made["seed"] for made in trained} == {0, 1} and all(made["num_envs"] == 64 for made in trained)
    assert all(1e-4 <= made["learning_rate"] <= 1e-2 and made["gamma"] in (0.98, 0.995) for made in trained)
    assert abs(math.log10(result.best.settings["learning_rate"]) + 3) < 0.2 and result.metric == "evaluated_return"
    assert result.best.mean == max(each.mean for each in result.settings) == result.ranked[0].mean
    assert len((tmp_path / "runs.csv").read_text().splitlines()) == 51
    kept = json.loads((tmp_path / "runs" / "0003-seed1.json").read_text())
    assert (
        kept["seed"] == 1 and kept["settings"] == result.setting(3).settings and kept["curve"]["seconds"] == [1, 2, 3]
    )


def test_every_combination_of_few_choices_is_tried_once(trained, tmp_path):
    space = {"gamma": [0.9, 0.99], "hidden_sizes": [(32,), (16, 16)], "separate_value_net": [True, False]}
    result = sweep("bandit", space, seeds=[4], updates=1, directory=tmp_path, progress=False)
    assert len(trained) == 8 and len({json.dumps(each.settings) for each in result.settings}) == 8
    assert {"gamma": 0.99, "hidden_sizes": [16, 16], "separate_value_net": True} in [
        s.settings for s in result.settings
    ]
    few = sweep("bandit", space, seeds=1, trials=5, updates=1, directory=tmp_path / "few", progress=False)
    assert len({json.dumps(each.settings) for each in few.settings}) == 5, "nothing is trained twice"


def test_another_name_of_a_setting_is_that_setting(trained, tmp_path):
    how = {"seeds": 1, "updates": 1, "progress": False}
    space = {"hidden_dim": [16, 32], "decay-learning-rates": [True, False]}
    result = sweep("bandit", space, lr=0.01, directory=tmp_path / "ppo", **how)
    assert [each.settings for each in result.settings] == [
        {"hidden_sizes": [width, width], "lr_schedule": schedule}
        for width in (16, 32)
        for schedule in ("linear", "constant")
    ]
    assert all(made["learning_rate"] == 0.01 for made in trained)
    own = {"spo.critic-lr": (1e-4, 1e-2, "log"), "num_minibatches": [2, 4]}
    result = sweep("bandit", own, algorithm="spo", trials=1, directory=tmp_path / "spo", **how)
    assert set(result.settings[0].settings) == {"spo.critic_learning_rate", "num_minibatches"}
    with pytest.raises(ConfigError, match=r"spo\.critic_learning_rate is given twice, the second time as 'spo"):
        again = {"spo.critic_learning_rate": [0.1], "spo.critic_lr": [0.1]}
        sweep("bandit", again, algorithm="spo", directory=tmp_path / "twice", **how)
    with pytest.raises(ValueError, match="learning_rate varies and is fixed"):
        sweep("bandit", {"lr": [0.1, 0.2]}, learning_rate=0.1, directory=tmp_path / "both", **how)
    with pytest.raises(ConfigError, match="not both"):
        sweep("bandit", {"num_minibatches": [2, 4]}, minibatch_size=64, directory=tmp_path / "sizes", **how)


def test_weights_and_shares_may_vary(trained, tmp_path):
    """What the sweep had written itself was refused after the training: it was no run of a sweep."""
    rewards = [{"upright": 1.0}, {"upright": 2.0}]
    for _ in range(2):
        result = sweep("cartpole", {"reward_weights": rewards}, directory=tmp_path, seeds=1, updates=1, progress=False)
        assert [run.settings["reward_weights"] for run in result.runs] == rewards


def test_numpys_numbers_are_kept_as_pythons(trained, tmp_path):
    space = {"gamma": list(np.float32([0.5, 0.25])), "epochs": (np.int64(1), np.int64(2))}
    how = {"trials": np.int64(2), "updates": np.int64(3), "normalize_advantages": np.True_, "directory": tmp_path}
    for seeds, chosen in ((np.int64(2), {0, 1}), (np.array([3, 1]), {0, 1, 3})):
        result = sweep("bandit", space, seeds=seeds, progress=False, **how)
        assert {run.seed for run in result.runs} == chosen
    with pytest.raises(ValueError, match="trials must be a whole number of at least 1, got 2.5"):
        sweep("bandit", space, **how | {"trials": 2.5})
    for wrong in (0, 2.5, True, [], [1, 1], [1.5], "12", None):
        with pytest.raises(ValueError, match="seeds must be a number of at least 1"):
            sweep("bandit", space, seeds=wrong, **how)


def test_it_continues_where_it_ended(trained, tmp_path, monkeypatch):
    train, how = sweeps._train, {"updates": 5, "directory": tmp_path, "progress": False}

    def interrupted(*arguments):
        if len(trained) == 5:
            raise KeyboardInterrupt
        return train(*arguments)

    monkeypatch.setattr(sweeps, "_train", interrupted)
    with pytest.raises(KeyboardInterrupt):
        sweep("bandit", SPACE, trials=4, seeds=2, **how)
    monkeypatch.setattr(sweeps, "_train", train)
    before = {path.name: path.read_bytes() for path in (tmp_path / "runs").iterdir()}
    assert len(before) == 5
    result = sweep("bandit", SPACE, trials=4, seeds=2, **how)
    assert len(trained) == 8 and len(result.settings) == 4
    assert all((tmp_path / "runs" / name).read_bytes() == content for name, content in before.items())
    assert trained[4]["learning_rate"] == trained[5]["learning_rate"], "the setting that lacked a seed came first"
    assert len(sweep("bandit", SPACE, trials=4, seeds=2, **how).runs) == 8 == len(trained), "nothing is left to do"
    assert len(sweep("bandit", SPACE, trials=5, seeds=3, **how).runs) == 15, "more may be asked for"
    for other in ({"updates": 6}, {"metric": "return_mean"}, {"num_envs": 128}):
        with pytest.raises(ValueError, match=r"holds another sweep: .* was .*, now .*Choose another directory"):
            sweep("bandit", SPACE, **{**how, **other})
    with pytest.raises(ValueError, match="settings was"):
        sweep("bandit", {"gamma": [0.5]}, **how)
    (tmp_path / "runs" / "0000-seed0.json").write_text("{")
    with pytest.raises(ValueError, match="0000-seed0.json' is not valid JSON: remove it"):
        sweep("bandit", SPACE, **how)


ODD: dict[str, list[object]] = {
    "value": ["x", [], {}, 10**400],
    "setting": ["x", None, 1.5, True],
    "settings": [
        [1],
        "x",
        {"=1+1": 2},
        {"gamma": "=1+1"},
        {"gamma": {"a": [1]}},
        {"gamma": None},
        {},
        {"gae_lambda": 0.9},
    ],
    "metrics": ["abc", {"=cmd": 1}, {"a": "x"}, {"a": 10**400}, None],
    "curve": [None, {"a": ["x"]}, {"agent_steps": [1, 2], "seconds": [1]}, {"agent_steps": 3}],
    "error": [None, 5, "@SUM(1)"],
}
"""Of which part of a run's file, and what no sweep writes there."""


@pytest.mark.parametrize(
    ("part", "value"), [(part, value) for part, values in ODD.items() for value in values], ids=str
)
def test_a_run_that_no_sweep_has_written_is_refused_in_a_sentence(trained, tmp_path, part, value):
    """A folder of results may be somebody else's."""
    how = {"trials": 4, "seeds": 1, "updates": 5, "directory": tmp_path, "progress": False}
    sweep("bandit", {"gamma": [0.9, 0.99]}, **how)
    path = tmp_path / "runs" / "0000-seed0.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), part: value}))
    with pytest.raises(ValueError, match="0000-seed0.json' is not a run of a sweep: remove it"):
        sweep("bandit", {"gamma": [0.9, 0.99]}, **how)


def test_nor_does_one_drive_a_terminal_or_keep_anybody_waiting(trained, tmp_path):
    how = {"trials": 4, "seeds": 1, "updates": 5, "directory": tmp_path, "progress": False}
    sweep("bandit", {"activation": ["relu", "tanh"]}, **how)
    path = tmp_path / "runs" / "0000-seed0.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "settings": {"activation": "\x1b[2J\nx"}, "value": 9}))
    assert sweep("bandit", {"activation": ["relu", "tanh"]}, **how).best.label == "activation= [2J x"
    os.truncate(tmp_path / "runs.csv", 1 << 40)  # with holes, a terabyte takes some kilobytes
    sweep("bandit", {"activation": ["relu", "tanh"]}, **how)
    died = SweepRun(0, {"gamma": 1}, 0, None, "\x1b[2J it died", {}, {})
    with pytest.raises(RuntimeError, match="value of elo:  \\[2J it died"):
        SweepResult(tmp_path, "elo", True, (died,)).best  # noqa: B018
    for content, said in (("[" * 100_000, "not valid JSON"), ("pipe", "no regular file"), ("long", "has more than")):
        path.unlink()
        if content == "pipe":
            os.mkfifo(path)
        else:
            path.write_text(content)
        if content == "long":
            os.truncate(path, MOST_BYTES + 1)
        waited = threading.Timer(60, lambda: os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK)))  # so long, then fail
        waited.daemon = True
        waited.start()
        with pytest.raises((ValueError, OSError), match=said):
            sweep("bandit", {"activation": ["relu", "tanh"]}, **how)
        waited.cancel()


def test_what_a_sweep_writes_goes_through_no_link(trained, tmp_path):
    """In a folder of somebody else's the curves took the place of a file elsewhere, and runs went there."""
    pytest.importorskip("matplotlib", reason="the extra `plots` is not installed")
    folder, outside = tmp_path / "theirs", tmp_path / "outside"
    outside.mkdir()
    (outside / "mine.txt").write_text("mine")
    words = ["sweep", "bandit", "--set", "gamma=0.9,0.98", "--seeds", "1", "--updates", "1", "--out", str(folder)]
    assert main.main(words) == 0
    (folder / "runs" / "0000-seed0.json").unlink()  # so it is made again, and the table written
    for name in ("curves.png", "runs.csv"):
        (folder / name).unlink()
        (folder / name).symlink_to(outside / "mine.txt" if name == "curves.png" else outside / "new.csv")
    assert main.main(words) == 0
    assert (folder / "curves.png").read_bytes().startswith(b"\x89PNG") and not (folder / "runs.csv").is_symlink()
    (folder / "runs").rename(tmp_path / "runs")
    (folder / "runs").symlink_to(outside, target_is_directory=True)
    assert main.main(words) == 2
    assert [(path.name, path.read_text()) for path in outside.iterdir()] == [("mine.txt", "mine")]


@pytest.mark.parametrize("lies", [lambda path: path.write_text("text.usetex: True\n"), os.mkfifo])
def test_the_command_draws_by_no_settings_that_lie_in_the_folder(trained, tmp_path, lies):
    """Matplotlib reads them when it is imported: TeX that typesets; and it waits for a pipe."""
    pytest.importorskip("matplotlib")
    lies(tmp_path / "matplotlibrc")
    code = (
        "import pathlib; from dshq_widget.cli.sweep import _draw;"
        "from dshq_widget.training.sweep_results import SweepResult, SweepRun;"
        "run = SweepRun(0, {'gamma': 1}, 0, 1.0, '', {}, {'agent_steps': [1, 2], 'seconds': [1, 2], 'elo': [0, 1]});"
        "_draw(SweepResult(pathlib.Path(), 'elo', True, (run,)), pathlib.Path('curves.png'))"
    )
    subprocess.run([sys.executable, "-P", "-c", code], cwd=tmp_path, check=True, timeout=120)
    assert (tmp_path / "curves.png").stat().st_size > 1000


def test_a_run_whose_curve_lacks_the_metric_has_no_line(tmp_path):
    run = SweepRun(0, {"gamma": 1}, 0, 1.0, "", {}, {"agent_steps": [1, 2], "seconds": [1, 2]})
    assert SweepResult(tmp_path, "elo", True, (run,)).band(0, "agent_steps") is None


def test_a_sweep_of_release_0_2_goes_on(trained, tmp_path):
    """It kept num_minibatches as the size that this made of the drill's rollout."""
    how = {"num_minibatches": 4, "seeds": 1, "updates": 1, "directory": tmp_path, "progress": False}
    sweep("bandit", {"gamma": [0.9, 0.98]}, rollout_length=16, **how)
    plan = json.loads((tmp_path / "sweep.json").read_text())
    assert plan["hyper"] == {"rollout_length": 16, "num_minibatches": 4}
    (tmp_path / "sweep.json").write_text(json.dumps({**plan, "hyper": {"rollout_length": 16, "minibatch_size": 256}}))
    with pytest.raises(ValueError, match="holds another sweep: hyper was"):
        sweep("bandit", {"gamma": [0.9, 0.98]}, rollout_length=32, **how)
    again = sweep("bandit", {"gamma": [0.9, 0.98]}, rollout_length=16, **how | {"seeds": 2})
    assert len(again.runs) == len(trained) == 4
    assert [made.get("minibatch_size") for made in trained] == [None, None, 256, 256], "all runs of it have one size"


def test_a_finished_sweep_is_read_where_nobody_can_write(trained, tmp_path, monkeypatch):
    how = {"seeds": 1, "updates": 1, "directory": tmp_path, "progress": False}
    ended = sweep("bandit", {"gamma": [0.9, 0.99]}, **how)

    def hold(path):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(locks, "hold", hold)
    assert sweep("bandit", {"gamma": [0.9, 0.99]}, **how).runs == ended.runs


def test_a_run_that_fails_is_kept_and_the_sweep_goes_on(tmp_path, trained, monkeypatch):
    train = sweeps._train

    def failing(game, algorithm, hyper, *rest):
        made = train(game, algorithm, hyper, *rest)
        return made if hyper["gamma"] == 0.98 else {**made, "value": None, "error": "the learner died"}

    monkeypatch.setattr(sweeps, "_train", failing)
    result = sweep("bandit", {"gamma": [0.9, 0.98]}, seeds=2, updates=1, directory=tmp_path, progress=False)
    assert result.best.settings == {"gamma": 0.98} and len(result.runs) == 4 and len(result.ranked) == 1
    assert [run.error for run in result.runs if run.settings["gamma"] == 0.9] == ["the learner died"] * 2
    result = SweepResult(tmp_path, "elo", True, tuple(run for run in result.runs if run.error))
    with pytest.raises(RuntimeError, match="no run of this sweep has a value of elo: the learner died"):
        result.best  # noqa: B018


def test_a_run_that_failed_is_made_again_by_the_next_call(tmp_path, trained, monkeypatch):
    """A machine was short of memory, or somebody ended its learner; where nobody can write, what is there is read."""
    train, how = sweeps._train, {"seeds": 2, "updates": 1, "directory": tmp_path, "progress": False}

    def failing(game, algorithm, hyper, *rest):
        made = train(game, algorithm, hyper, *rest)
        return made if hyper["seed"] == 0 else {**made, "value": None, "error": "the learner died"}

    with monkeypatch.context() as patch:
        patch.setattr(sweeps, "_train", failing)
        sweep("bandit", {"gamma": [0.9, 0.98]}, **how)
    hold = locks.hold

    def unwritable(path):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    for locked, more in ((unwritable, []), (hold, [1, 1]), (hold, [])):
        trained.clear()
        monkeypatch.setattr(locks, "hold", locked)
        result = sweep("bandit", {"gamma": [0.9, 0.98]}, **how)
        assert [made["seed"] for made in trained] == more
        assert len(result.runs) == 4 and any(run.error for run in result.runs) == (locked is unwritable)


def test_a_table_of_somebody_else_is_not_written_over(tmp_path, trained):
    how = {"seeds": 1, "updates": 1, "progress": False}
    mine = tmp_path / "runs.csv"
    mine.write_text("date,shoes\n")
    with pytest.raises(ValueError, match=r"runs.csv' is no table of this sweep, .*choose another directory"):
        sweep("bandit", {"gamma": [0.9]}, directory=tmp_path, **how)
    assert os.listdir(tmp_path) == ["runs.csv"] and mine.read_text() == "date,shoes\n"
    mine.unlink()
    sweep("bandit", {"gamma": [0.9]}, directory=tmp_path, **how)
    ours = mine.read_text()
    (tmp_path / "sweep.json").rename(tmp_path / "gone.json")
    with pytest.raises(ValueError, match="no table of this sweep"):  # it is all that is left of another one
        sweep("bandit", {"gamma": [0.9]}, directory=tmp_path, **how)
    (tmp_path / "gone.json").rename(tmp_path / "sweep.json")
    mine.write_text("date,shoes\n")
    with pytest.raises(ValueError, match="no table of this sweep"):
        sweep("bandit", {"gamma": [0.9]}, directory=tmp_path, **how)
    mine.write_text(ours)
    assert len(sweep("bandit", {"gamma": [0.9]}, directory=tmp_path, **how).runs) == 1 == len(trained)


def test_the_command_does_not_draw_over_somebody_elses_picture(tmp_path, trained, capsys):
    (tmp_path / "curves.png").write_bytes(b"a river")
    words = ["sweep", "bandit", "--set", "gamma=0.9", "--updates", "1", "--out", str(tmp_path)]
    assert main.main(words) == 2
    assert "curves.png' is of no sweep" in capsys.readouterr().err and trained == []
    assert os.listdir(tmp_path) == ["curves.png"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"settings": {}}, "at least one setting"),
        ({"settings": {"learning_rat": [1]}}, "did you mean 'learning_rate'"),
        ({"settings": {"gamma": 0.9}}, "a list of choices such as"),
        ({"settings": {"gamma": [0.9, 1.9]}}, "gamma must be a number from 0 to 1, got 1.9"),
        ({"settings": {"gamma": [0.9, 0.9]}}, "the same choice twice"),
        ({"settings": {"gamma": (0.9, 0.5)}}, "from the smaller number to the larger"),
        ({"settings": {"gamma": (0.0, 0.5, "log")}}, "begins above 0"),
        ({"settings": {"gamma": (0.1, 0.5, "ln")}}, "a range such as"),
        ({"settings": {"num_envs": (16, 64, "log")}}, "steps of 16"),
        ({"settings": {"activation": ("relu", "tanh")}}, "is not a number"),
        ({"settings": {"seed": [1, 2]}}, "seeds="),
        ({"settings": {"gamma": [0.5], "lambda": [0.5], "gae_lambda": [0.6]}}, "given twice"),
        ({"settings": {"device": ["cpu", "page"]}}, "device must be one of auto, cpu, cuda, got 'page'"),
        ({"gamma": 0.5}, "varies and is fixed"),
        ({"seed": 3}, r"say seeds=\[3\]"),
        ({"seeds": 0}, "seeds must be"),
        ({"trials": 0}, "trials must be"),
        ({"seconds": 1}, "training needs one of updates="),
        ({"metric": "win_rat_ema"}, "did you mean 'win_rate_ema'"),
        ({"metric": "learning_rate"}, "choose another metric"),
        ({"algorithm": "pp"}, "ppo"),
    ],
)
def test_what_cannot_be_tried_is_a_sentence_before_anything_is_trained(trained, tmp_path, given, words):
    with pytest.raises(ValueError, match=words):
        sweep("bandit", **{"settings": SPACE, "updates": 1, "directory": tmp_path / "new", **given})
    assert trained == [] and not (tmp_path / "new").exists()


def test_drawing_does_not_win_a_sweep(tmp_path):
    """One win and 127 draws make a win rate of 1, because draws are not among the decided matches."""
    metric = sweeps.default_metric(compiled("ball"))
    drawing = {"win_rate_ema": 1.0, "win_share": 1 / 128}
    winning = {"win_rate_ema": 0.8, "win_share": 0.7}
    runs = [SweepRun(k, {"gamma": k}, 0, row[metric], "", row, {}) for k, row in enumerate([drawing, winning])]
    assert SweepResult(tmp_path, metric, sweeps._rises(metric), tuple(runs)).best.settings == {"gamma": 1}
    assert sweeps.default_metric(compiled("bandit")) == "evaluated_return"
    alone = dataclasses.replace(compiled("ball"), spec=dataclasses.replace(compiled("ball").spec, baselines=()))
    assert sweeps.default_metric(alone) == "win_share_random", "without a script there is no win_share"


def test_a_sweep_goes_on_by_the_metric_that_it_began_with(trained, tmp_path):
    how = {"seeds": 1, "updates": 1, "directory": tmp_path, "progress": False}
    sweep("ball", {"gamma": [0.9, 0.98]}, metric="win_rate_ema", **how)
    result = sweep("ball", {"gamma": [0.9, 0.98]}, **how)
    assert result.metric == "win_rate_ema" and len(trained) == 2


def test_forms_of_the_command_line():
    own = {"spo.tau": ("spo.tau", {"kind": "float", "min": 0, "max": 1, "multiple": 1, "unit": ""})}
    given = ["lr=1e-4..1e-2:log", "gamma=0.98,0.995", "hidden-sizes=32|64,64", "epochs=1..4", "spo.tau=0..0.5"]
    assert read(dict(map(parse, given)), own) == {
        "learning_rate": Range(1e-4, 1e-2, log=True),
        "gamma": Choices((0.98, 0.995)),
        "hidden_sizes": Choices(((32,), (64, 64))),
        "epochs": Range(1, 4, step=1),
        "spo.tau": Range(0.0, 0.5),
    }
    for wrong in ("gamma", "gamma=", "=3"):
        with pytest.raises(ConfigError, match=r"wanted NAME=LOW\.\.HIGH"):
            parse(wrong)


def test_intervals_are_student_s():
    assert t95(2) == pytest.approx(4.302653, abs=1e-4) and t95(10) == pytest.approx(2.228139, abs=1e-3)
    assert t95(30) == pytest.approx(2.042272, abs=1e-4)
    assert interval([1.0]) is None
    assert interval([1.0, 2.0, 3.0]) == pytest.approx((2 - 4.302653 / 3**0.5, 2 + 4.302653 / 3**0.5), abs=1e-4)


def test_the_band_lies_where_all_seeds_have_values(tmp_path):
    curves = [{"agent_steps": [0, 100, 200], "elo": [0, 1, 2]}, {"agent_steps": [100, 300], "elo": [3, 5]}]
    runs = [SweepRun(0, {"gamma": 0.5}, seed, 1.0, "", {}, curve) for seed, curve in enumerate(curves)]
    result = SweepResult(tmp_path, "elo", True, tuple(runs))
    at, mean, low, high = result.band(0, "agent_steps")
    assert (at[0], at[-1]) == (100, 200) and (mean[0], mean[-1]) == pytest.approx((2, 3))
    assert high[0] - mean[0] == pytest.approx(mean[0] - low[0]) == pytest.approx(12.7062 * 2**0.5 / 2**0.5)
    assert result.band(0, "seconds") is None
    with pytest.raises(ValueError, match="agent_steps or seconds, got 'updates'"):
        result.plot("updates")


def test_the_figure_has_a_line_and_a_band_for_each_setting(trained, tmp_path):
    pytest.importorskip("matplotlib", reason="the extra `plots` is not installed")
    result = sweep("bandit", {"gamma": [0.9, 0.98]}, seeds=2, updates=1, directory=tmp_path, progress=False)
    (axes,) = result.plot().axes
    assert [line.get_label() for line in axes.lines] == ["gamma=0.98", "gamma=0.9"] and len(axes.collections) == 2
    assert len(result.plot("seconds", most=1).axes[0].lines) == 1


def test_what_is_not_installed_is_named(trained, tmp_path, monkeypatch):
    result = sweep("bandit", {"gamma": [0.9]}, seeds=1, updates=1, directory=tmp_path, progress=False)
    for name, call, words in [
        ("pandas", result.frame, r"pip install pandas, or use \.rows\(\)"),
        ("matplotlib", result.plot, r"pip install 'dshq-widget\[plots\]'"),
        ("optuna", lambda: sweep("bandit", SPACE, directory=tmp_path), r"pip install 'dshq-widget\[sweep\]'"),
    ]:
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, name, None)
            with pytest.raises(ImportError, match=words):
                call()
    assert result.rows()[0]["gamma"] == 0.9 and result.rows()[0]["metrics.agent_steps"] == 300


@pytest.mark.slow
def test_the_command_trains_and_says_what_was_best(tmp_path):
    words = ["bandit", "--set", "gamma=0.98,0.9", "--seeds", "1", "--updates", "30", "--out", str(tmp_path / "out")]
    words += ["--fix", "num-envs=64", "--fix", "evaluate_seconds=0", "--fix", "workers=0", "--json"]
    command = [sys.executable, "-m", "dshq_widget.cli", "sweep", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    assert said["runs"] == 2 and said["metric"] == "evaluated_return" and said["best"]["ci95"] is None
    kept = json.loads((tmp_path / "out" / "runs" / "0000-seed0.json").read_text())
    assert kept["settings"] == {"gamma": 0.98} and kept["metrics"]["updates"] == 30 and kept["curve"]["agent_steps"]
    wrong = subprocess.run([*command, "--set", "gamma=1"], capture_output=True, text=True, timeout=300)
    assert wrong.returncode == 2 and "names a setting twice" in wrong.stderr and len(wrong.stderr.splitlines()) == 1
