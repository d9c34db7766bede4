"""`dshq config --template`: a run's file with every setting of an algorithm, its default and what it means."""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from dshq_widget import drills
from dshq_widget.algorithms.algorithm import Algorithm
from dshq_widget.cli import drill_argument
from dshq_widget.contract import sections, setting, settings
from dshq_widget.contract.run_file import FORMAT, RUN
from dshq_widget.contract.sections import Section
from dshq_widget.contract.settings import SECTIONS, TrainConfig
from dshq_widget.env.batch import compiled
from dshq_widget.training.run.config import RunConfig

WIDTH = 100


def suiting(algorithm: Algorithm) -> str:
    """The first drill of the package that the algorithm can train."""
    for name in drills.drills:
        try:
            algorithm.check(compiled(name).spec)
        except ValueError:
            continue
        return name
    raise ValueError(f"no drill of the package suits the algorithm {algorithm.name}: name one with --drill")


def template(algorithm: Algorithm, drill: str) -> str:
    """The file as text; `dshq train --config` reads it. Each setting stands there as a comment, with the value that it
    has for this drill. Raises ValueError for a drill that is not there, or that the algorithm cannot train.
    """
    values, own = _begun_with(algorithm, drill)
    rest = "is as the file or the environment has it, else as here" if _elsewhere(drill) else "is as it stands here"
    defaults = values.to_json()
    keys = [key for key in algorithm.shared_settings if key not in algorithm.fixed]
    lines = [
        f"# A run of {algorithm.name}. Take away the # of what you change; the rest {rest}.",
        f"format: {FORMAT}",
        f"{RUN}:",
        f"  drill: {drill}",
        f"  algorithm: {algorithm.name}",
        "  # seconds: 60        # or updates, or agent_steps",
        "  # out: bot.dshq",
        "  # log_dir: logs",
        f"{SECTIONS[0]}:",
        *_rows({key: defaults[key] for key in keys}, settings.field_docs(), settings.FIELDS),
    ]
    if own is not None:
        known = setting.docs(type(own)), sections.fields(type(own))
        lines += [f"{algorithm.name}:", *_rows(dataclasses.asdict(own), *known)]
    return "\n".join(lines) + "\n"


def _begun_with(algorithm: Algorithm, drill: str) -> tuple[TrainConfig, Section | None]:
    """What a run begins with: the drill's settings; those of every drill where a file or an environment, which is not
    opened here, may have others.
    """
    if _elsewhere(drill):
        return TrainConfig().replace(algorithm.defaults), algorithm.read()
    found = compiled(drill_argument.drill(drill))
    algorithm.check(found.spec)
    begun = RunConfig(found, algorithm)
    return begun.values, begun.section


def _elsewhere(drill: str) -> bool:
    """Whether a file or an environment may have settings of its own."""
    return drill.endswith(".dshq") or drill.startswith("gym:")


def _rows(
    values: Mapping[str, Any], helps: Mapping[str, str], fields: Mapping[str, Mapping[str, Any]]
) -> Iterator[str]:
    for key, value in values.items():
        plain = list(value) if isinstance(value, tuple) else value
        about = f"{helps[key]} {setting.limits(fields[key])}".strip()
        yield from textwrap.wrap(about, WIDTH, initial_indent="  # ", subsequent_indent="  # ")
        yield f"  # {yaml.safe_dump({key: plain}, default_flow_style=True, width=10_000).strip()[1:-1]}"
