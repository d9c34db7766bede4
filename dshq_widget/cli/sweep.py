"""`dshq sweep`: try settings of a drill and compare them."""

from __future__ import annotations

import argparse
import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dshq_widget.cli import drill_argument, interrupts, outputs
from dshq_widget.cli.arguments import UsageError, flag_of
from dshq_widget.files import atomic
from dshq_widget.runtime.own_modules import elsewhere

if TYPE_CHECKING:
    from dshq_widget.training.sweep_results import SweepResult

PICTURE_NAME = "curves.png"
BUDGETS = ("seconds", "agent_steps", "updates")
OWN = {"drill": "", "settings": "--set", "directory": "--out", "progress": "--quiet", "seed": "--seeds"} | {
    name: flag_of(name) for name in ("seeds", "trials", "metric", "algorithm", *BUDGETS)
}
"""What a sweep itself takes in Python, and what says it here."""


def sweep(options: argparse.Namespace) -> tuple[dict[str, Any] | None, int]:
    """Try settings of a drill, each with several seeds, and compare them."""
    from dshq_widget.training import sweep_space
    from dshq_widget.training.sweep import sweep as run
    from dshq_widget.training.sweep_results import PLAN_NAME

    budget = {key: getattr(options, key) for key in BUDGETS}
    for key, value in budget.items():
        if value is not None:
            outputs.positive(flag_of(key), value)
    varied = [sweep_space.parse(text) for text in options.set]
    if len({name for name, _ in varied}) < len(varied):
        raise UsageError(f"--set names a setting twice: {', '.join(options.set)}")
    fixed: dict[str, Any] = {}
    for text in options.fix:
        name, value = _fixed(text)
        if name in fixed:
            raise UsageError(f"--fix names a setting twice: {', '.join(options.fix)}")
        if name in OWN:
            raise UsageError(f"--fix: {name} is no setting of a run: {OWN[name] or 'DRILL'} says it")
        fixed[name] = value
    drill = drill_argument.drill(options.drill)
    directory = outputs.folder("--out", options.out)
    picture = directory / PICTURE_NAME
    if picture.exists() and not (directory / PLAN_NAME).exists():
        raise UsageError(f"--out: {str(picture)!r} is of no sweep, and would be written over: choose another folder")
    kept = f"; finished runs are in {directory}, and the same command continues"
    interrupts.keep(kept)
    how = {key: getattr(options, key) for key in ("seeds", "trials", "metric", "algorithm")}
    how |= {"directory": directory, "progress": not (options.json or options.quiet)}
    try:
        with outputs.written("--out", options.out):
            result = run(drill, dict(varied), **how, **budget, **fixed)
    except (Exception, KeyboardInterrupt) as error:
        end = interrupts.behind(error)
        if end is None:
            raise
        interrupts.hold()
        print(f"\ndshq: {end}{kept}", file=sys.stderr)
        return None, end.status
    best = result.best
    try:
        _draw(result, picture)
        drawn = f"{picture} has the curves"
    except ImportError as error:
        drawn = f"no curves were drawn: {error}"
    if not options.json:
        between = f" ({best.ci95[0]:.4g} to {best.ci95[1]:.4g})" if best.ci95 else ""
        print(f"best of {len(result.settings)}: {best.label}: mean {result.metric} {best.mean:.4g}{between}")
        print(f"{directory / 'runs.csv'} has every run; {drawn}")
    found = {
        "out": str(result.directory),
        "metric": result.metric,
        "runs": len(result.runs),
        "best": {"settings": best.settings, "mean": best.mean, "ci95": best.ci95, "values": best.values},
    }
    return found, 0


def _draw(result: SweepResult, picture: Path) -> None:
    """The curves, through no link: the sweep's folder may be somebody else's. Nor is `matplotlibrc` read that lies in
    the working folder: it names a module to draw with, and has texts typeset by TeX. Raises ImportError and OSError.
    """
    with contextlib.suppress(ImportError), elsewhere():  # `plot` says what is missing
        import matplotlib

        matplotlib.use("agg")
    figure = result.plot()
    with atomic.aside(picture) as file:
        figure.savefig(file, format="png", dpi=120)


def _fixed(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name or not value:
        raise UsageError(f"--fix: wanted NAME=VALUE, got {text!r}")
    return name.replace("-", "_"), value
