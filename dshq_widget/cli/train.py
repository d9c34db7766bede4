"""`dshq train`: train a drill and save the policy."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dshq_widget.algorithms.algorithm import Refused
from dshq_widget.algorithms.torchrun import Place, started_by_torchrun
from dshq_widget.cli import drill_argument, interrupts, outputs, run_plan
from dshq_widget.cli.arguments import SECONDS, UsageError
from dshq_widget.contract import settings
from dshq_widget.contract.game_spec import GameSpec
from dshq_widget.files import claims
from dshq_widget.runtime.words import reason_of
from dshq_widget.training.history import Progress

if TYPE_CHECKING:
    from dshq_widget.training.trainer import Trainer


def train(options: argparse.Namespace) -> tuple[dict[str, Any] | None, int]:
    """Train a drill and save the policy."""
    from dshq_widget.cli import keeping
    from dshq_widget.training.goals import EnvironmentFailed
    from dshq_widget.training.run.files import AUTOSAVE_NAME
    from dshq_widget.training.trainer import Trainer

    plan = run_plan.of(options)
    if _follows(plan):
        return _follow(plan)
    out = None if plan.out is None else outputs.writable("--out", plan.out, ".dshq")
    log_dir = None if plan.log_dir is None else outputs.folder("--log-dir", plan.log_dir)
    files = run_plan.places(out, log_dir)  # before anything is made
    drill, resume = _what(plan)
    _check_tracking(plan.track)
    how: dict[str, Any] = {"track": plan.track or "", "algorithm": plan.algorithm, "algorithm_settings": plan.own}
    how |= {"engine": plan.engine, "ray_address": plan.ray_address, "network": plan.network}
    places = {os.path.abspath(path) for path in (out, log_dir and log_dir / AUTOSAVE_NAME) if path}
    with (
        claims.claimed(*([out] if out and len(places) > 1 else [])),  # the trainer claims what it writes itself
        Trainer(drill, resume=resume, log_dir=log_dir, autosave=out, **how, **plan.hyper) as trainer,
    ):
        trainer.claim()
        spec, first = trainer.drill.spec, trainer.latest_policy().step
        until_solved = not plan.budget and spec.target is not None
        where, saved, ended, status = None, None, "", 0
        written = run_plan.Written(plan, trainer, files)
        trainer.on_change(written.begin)
        try:
            budget = plan.budget or {"seconds": SECONDS}
            shown = not (options.json or options.quiet) or options.dashboard
            progress = _dashboard(trainer) if options.dashboard else Progress(shown)
            trainer.train_for(**budget, until_solved=until_solved, progress=progress)
            if out is not None:
                where, problem = keeping.save(trainer, out)
                if problem:
                    ended, status = f"{problem}; {keeping.kept(where)}", 1
                else:
                    interrupts.keep(f"; {keeping.kept(where)}")
                    saved = _finish(trainer, out, plan.latest)
        except (Exception, KeyboardInterrupt) as error:
            target = out or (log_dir and log_dir / AUTOSAVE_NAME)
            if end := interrupts.behind(error):
                where, kept = keeping.rescue(trainer, target, first)
                ended, status = f"{end}; {kept}", end.status
            elif isinstance(error, RuntimeError):
                ended, status = reason_of(error), 2 if isinstance(error, EnvironmentFailed) else 1
                if trainer.latest_policy().step > first:
                    where, problem = keeping.save(trainer, target)
                    ended = "; ".join(filter(None, (ended, problem, keeping.kept(where))))
            else:
                raise
        if problem := written.end(where is not None or trainer.latest_policy().step > first):
            ended, status = "; ".join(filter(None, (ended, problem))), status or 1
        result = _result(trainer, where, saved)
    if ended:
        print(f"dshq: {ended}", file=sys.stderr)
    if not options.json:
        _print(result, spec)
    return result, status


def _follows(plan: run_plan.Plan) -> bool:
    """Whether this process is one of joint learners, and not their first. Raises UsageError for torchrun without joint
    learning: each process would train for itself.
    """
    if not started_by_torchrun():
        return False
    if not settings.TrainConfig.from_values(plan.hyper).joint:
        raise UsageError("torchrun has started several processes: add --joint true, or start one without torchrun")
    return Place.of().rank > 0


def _follow(plan: run_plan.Plan) -> tuple[dict[str, Any] | None, int]:
    """Do what the run's algorithm lets the processes beside the first do. Raises Refused where it has none."""
    from dshq_widget.training.opening import opened

    algorithm = opened(*_what(plan), plan.algorithm, plan.own, plan.network).algorithm
    algorithm.require("joint")
    if algorithm.follow is None:
        raise Refused(f"{algorithm.name} learns in one process: leave out --joint")
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all: the first one saves, and then tells the others
    algorithm.follow(Place.of())
    return None, 0


def _what(plan: run_plan.Plan) -> tuple[Any, str | None]:
    """What is trained, and the file that is continued from. Raises UsageError for a wrong one."""
    from dshq_widget.policy import checkpoint

    drill, resume = drill_argument.drill(plan.start), drill_argument.policy_file(plan.start)
    if resume is not None:
        drill = drill_argument.drill_of(checkpoint.load(resume), resume, plan.drill_file)
    elif plan.drill_file is not None:
        raise UsageError(f"--drill can only be used with a .dshq file, got {plan.start!r}: leave it out")
    return drill, resume


def _check_tracking(track: str | None) -> None:
    from dshq_widget.learning.telemetry import trackers

    try:
        trackers.parse(track or "")
    except ValueError as error:
        raise UsageError(f"--track: {error}") from None


def _dashboard(trainer: Trainer) -> Progress:
    from dshq_widget.cli.dashboard import Dashboard

    return Dashboard(f"{trainer.drill.spec.title} by {trainer.algorithm}", lambda: trainer.metrics)


def _finish(trainer: Trainer, out: Path, latest: bool) -> dict[str, Any]:
    """Leave the better of champion and latest policy in the file, unless the latest was asked for."""
    from dshq_widget.cli import keeping
    from dshq_widget.learning.opponents.competitions import COMPETITION

    best = None if latest or COMPETITION is None else COMPETITION.keep_best(out, trainer.drill)
    return best or keeping.latest(out)


def _result(trainer: Trainer, where: Path | None, saved: dict[str, Any] | None) -> dict[str, Any]:
    from dshq_widget.cli import keeping

    metrics = trainer.metrics
    steps = max(metrics.get("agent_steps", 0), trainer.latest_policy().step)  # the last report may not have come
    seconds = metrics.get("seconds", 0.0)
    return {
        "drill": trainer.drill.name,
        "algorithm": trainer.algorithm,
        "seed": trainer.config.seed,
        "seconds": seconds,
        "agent_steps": steps,
        "agent_steps_per_second": steps / seconds if seconds else 0.0,
        "updates": metrics.get("updates", 0),
        **trainer.summary,
        "version": trainer.version,
        "device": trainer.device,
        "workers": trainer.workers,
        "tuning": trainer.tuning,
        "metrics": metrics,
        "out": None if where is None else str(where),
        "saved": saved or (None if where is None else keeping.latest(where)),
    }


def _print(result: dict[str, Any], spec: GameSpec) -> None:
    speed = f"{result['seconds']:.1f} s ({result['agent_steps_per_second']:,.0f}/s)"
    print(f"{result['agent_steps']:,} agent steps in {speed}, {result['updates']} updates")
    tuned, metrics = result["tuning"], result["metrics"]
    if tuned:
        print(f"{tuned['threads']} learner threads, {tuned['workers']} rollout processes: {tuned['why']}")
    if result["out"]:
        print(f"version {result['saved']['version']} saved as {result['out']}: {result['saved']['why']}")
    if "elo" in metrics:
        band = f"95 % interval {metrics['elo_low']:.0f} to {metrics['elo_high']:.0f}"
        print(f"Elo of the newest version in the league: {metrics['elo']:.0f} ({band})")
    if "evaluated_return" in metrics:
        target = f" (target {spec.target:g})" if spec.target is not None else ""
        print(f"mean return of the last evaluation: {metrics['evaluated_return']:.2f}{target}")
