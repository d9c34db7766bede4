"""A search for settings: trains one setting after another, each with several seeds; Optuna chooses them."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dshq_widget import algorithms
from dshq_widget.contract.finite import plain, whole
from dshq_widget.contract.game_spec import Game
from dshq_widget.contract.metrics import METRICS, metric_named
from dshq_widget.contract.setting import ConfigError, nearest
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.drill.declaration import Drill
from dshq_widget.files import atomic, claims
from dshq_widget.gyms.environment import Environment
from dshq_widget.system.streams import say
from dshq_widget.training import sweep_space
from dshq_widget.training.any_drill import compiled
from dshq_widget.training.goals import Budget
from dshq_widget.training.sweep_results import PLAN_NAME, Store, SweepResult, SweepRun, planned
from dshq_widget.training.sweep_space import Space
from dshq_widget.training.trainer import Trainer

MOST_SEEDS = 10_000
MOST_REPEATS = 100
"""Optuna may propose a setting of choices again. It gets the known result; after this many in a row the sweep ends."""


def sweep(
    drill: str | type[Drill] | CompiledDrill,
    settings: Mapping[str, Any],
    *,
    directory: str | os.PathLike[str],
    seeds: int | Sequence[int] = 3,
    trials: int = 20,
    seconds: float | None = None,
    agent_steps: int | None = None,
    updates: int | None = None,
    metric: str | None = None,
    algorithm: str | None = None,
    progress: bool = True,
    **hyper: Any,
) -> SweepResult:
    """Try settings of a drill and compare them. Returns once all have been tried.

    `settings` says what varies: a list of choices (`{"gamma": [0.98, 0.995]}`) or a range
    (`{"learning_rate": (1e-4, 1e-2, "log")}`) for each; an algorithm's own settings have dotted keys
    (`"spo.tau"`). Another name of a setting (`"lr"`) is that setting, also in the results. `hyper` are settings that
    every run has. Each of at most `trials` settings is trained once for each seed (0, 1, ... or those given), for
    `seconds` of training, `agent_steps` or `updates`. Runs follow one another, because one run uses every processor.
    Settings are compared by the last value of `metric` (a flat name), averaged over the seeds; by default
    `default_metric`.

    Where all combinations of choices are at most `trials`, each is tried. Otherwise Optuna's tree-structured Parzen
    estimator proposes the next setting from the results so far (Bergstra et al., 2011).

    After each run `directory` contains `runs/NNNN-seedS.json` (settings, seed, last metrics, learning curve) and
    `runs.csv`. The same call with the same directory continues after the last finished run; more `trials` or seeds may
    be asked for. A run that fails is kept with its error, and the sweep continues; the next call repeats it. Ctrl-C
    ends the sweep and is raised.

    Raises ImportError if Optuna is not installed, ConfigError or ValueError for what cannot be tried (before anything
    is trained), ValueError for a directory with another sweep or with a `runs.csv` that is not of a sweep, ClaimError
    for one that another process is filling, OSError.
    """
    optuna = _optuna()
    budget = Budget(updates, agent_steps, seconds)
    chosen = _seeds(seeds)
    trials = whole("trials", trials, 1)
    if "seed" in hyper:
        raise ValueError(f"seed={hyper['seed']!r} would give every run the same one: say seeds=[{hyper['seed']!r}]")
    game = compiled(drill)
    begun = planned(Path(directory))
    metric = metric or begun.get("metric") or default_metric(game)
    rises = _rises(metric)
    name = algorithms.chosen(algorithm or game.spec.algorithm).name
    own = sweep_space.own_settings(name, algorithms.get(name).settings)
    space = sweep_space.read(settings, own)
    hyper = sweep_space.as_begun(sweep_space.fixed(hyper, own), begun.get("hyper"), game.spec)
    _check(game, name, space, hyper)
    plan = {
        "drill": game.name,
        "rules_hash": game.rules_hash,
        "algorithm": name,
        "budget": {budget.what: budget.amount},
        "metric": metric,
        "settings": {key: one.to_json() for key, one in space.items()},
        "hyper": hyper,
    }
    place = atomic.absolute(directory)
    place.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as alone:
        writable = False
        with contextlib.suppress(OSError):  # results may lie where nobody can write; whoever writes there hears why
            alone.enter_context(claims.claimed(place / PLAN_NAME))
            writable = True
        store = Store(place, plan)

        def result() -> SweepResult:
            return SweepResult(store.directory, metric, rises, store.runs())

        combinations = sweep_space.size(space)
        every = combinations <= trials
        trials = int(min(trials, combinations))
        for number, values in _proposed(optuna, space, result, trials, every):
            runs = [run for run in store.runs() if run.setting == number]
            known = {run.seed for run in runs if run.value is not None or not writable}
            for seed in (one for one in chosen if one not in known):
                how = {**hyper, **values, "seed": seed}
                run = _train(game, name, how, {budget.what: budget.amount}, metric, progress)
                store.add(SweepRun(number, values, seed, **run))
                store.write_table(result())
                if progress:
                    _say(result(), number, trials, seed)
        return result()


def default_metric(game: Game) -> str:
    """What judges a setting unless another metric is named: `win_share`, the wins among all matches with the drill's
    script; `win_share_random` where there is no script, `evaluated_return` in a drill of one side. `win_rate_ema` would
    not do: it counts decided matches only, so one win and 127 draws make the best policy there is.
    """
    if game.spec.sides == 1:
        return "evaluated_return"
    return "win_share" if game.spec.baselines else "win_share_random"


def _proposed(
    optuna: Any, space: Space, result: Callable[[], SweepResult], trials: int, whole: bool
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Numbers and values of the settings to try: first those already begun, of which seeds may lack, then all that are
    left (`whole`) or Optuna's. After each, Optuna gets the mean.
    """
    begun, spread, failed = result().settings, sweep_space.distributions(space), optuna.trial.TrialState.FAIL
    with _quiet(optuna):
        study = optuna.create_study(
            direction="maximize" if result().rises else "minimize",
            sampler=optuna.samplers.TPESampler(seed=len(begun)),
        )
    for values in sweep_space.combinations(space) if whole else [each.settings for each in begun]:
        study.enqueue_trial(sweep_space.to_optuna(space, values), skip_if_exists=True)
    numbers = {_key(each.settings): each.number for each in begun}
    done: set[int] = set()
    again = 0
    while (len(done) < trials or len(done) < len(begun)) and again < MOST_REPEATS:
        trial = study.ask(spread)
        values = sweep_space.from_optuna(space, trial.params)
        number = numbers.setdefault(_key(values), max(numbers.values(), default=-1) + 1)
        again = again + 1 if number in done else 0
        if number not in done:
            yield number, values
            done.add(number)
        mean = result().setting(number).mean
        if mean is None:
            study.tell(trial, state=failed)
        else:
            study.tell(trial, mean)


def _key(values: Mapping[str, Any]) -> str:
    return json.dumps(values, sort_keys=True)


def _train(
    game: CompiledDrill | Environment,
    algorithm: str,
    hyper: Mapping[str, Any],
    budget: Mapping[str, Any],
    metric: str,
    progress: bool,
) -> dict[str, Any]:
    """One run: the last value of the metric, all last metrics, the curve; an error instead of a value if it failed."""
    metrics: dict[str, float | int] = {}
    rows: list[dict[str, float | int]] = []
    error = ""
    try:
        with Trainer(game, algorithm=algorithm, **hyper) as trainer:
            try:
                ended = trainer.train_for(**budget, progress=progress)
                error = "" if ended else "the run was stopped before its end"
            finally:
                metrics, rows = trainer.metrics, [row for row in trainer.history if metric in row]
    except (RuntimeError, ConfigError) as failure:
        error = str(failure)
    if not error and metric not in metrics:
        error = f"no value of {metric} in {_amount(budget)}: train longer, or evaluate more often (evaluate_seconds)"
    return {
        "value": None if error else metrics[metric],
        "error": error,
        "metrics": metrics,
        "curve": {name: [row[name] for row in rows] for name in ("agent_steps", "seconds", metric)},
    }


def _amount(budget: Mapping[str, Any]) -> str:
    ((what, amount),) = budget.items()
    return f"{amount:,} {what.replace('_', ' ')}"


def _optuna() -> Any:
    try:
        import optuna
    except ImportError as error:
        raise ImportError("a sweep needs Optuna: run pip install 'dshq-widget[sweep]'") from error
    return optuna


@contextlib.contextmanager
def _quiet(optuna: Any) -> Iterator[None]:
    """Without Optuna's own notes, which the sweep's lines say better."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)


def _seeds(seeds: int | Sequence[int]) -> list[int]:
    given = plain(seeds)
    try:
        several = given if isinstance(given, Iterable) else range(whole("", given))[: MOST_SEEDS + 1]
        chosen = [whole("a seed", one) for one in several]
    except ValueError:
        chosen = []
    if not 0 < len(set(chosen)) == len(chosen) <= MOST_SEEDS:
        raise ValueError(
            f"seeds must be a number of at least 1, {MOST_SEEDS:,} at most, or a list of different seeds, got "
            f"{seeds!r:.60}"
        )
    return chosen


def _rises(metric: str) -> bool:
    """Whether more of it is better. Raises ValueError for an unknown metric, or one of which neither is."""
    known = metric_named(metric)
    if known is None:
        hint = nearest(metric, METRICS) or "; docs/reference/settings.md has all of them"
        raise ValueError(f"unknown metric {metric!r}{hint}")
    if known.should_rise is None:
        raise ValueError(f"{metric} should neither rise nor fall, so no setting is best by it: choose another metric")
    return known.should_rise


def _check(game: CompiledDrill | Environment, algorithm: str, space: Space, hyper: Mapping[str, Any]) -> None:
    """Raises what a trainer with one of these settings would raise."""
    both = sorted({*space} & {*hyper})
    if both:
        raise ValueError(f"{both[0]} varies and is fixed: leave it out of one of the two")
    for key, one in space.items():
        for value in one.ends:
            Trainer(game, algorithm=algorithm, **{**hyper, key: value}).close()


def _say(result: SweepResult, number: int, trials: int, seed: int) -> None:
    setting = result.setting(number)
    run = next(each for each in result.runs if (each.setting, each.seed) == (number, seed))
    value = run.error if run.value is None else f"{result.metric} {run.value:.4g}"
    say(f"setting {number + 1} of {trials}, seed {seed}: {setting.label}: {value}", sys.stdout)
