"""Writes the copies of the tables and types in dshq_widget's contract, drills and docstrings: `make tables`.

`js/contract/{game,messages,tables}.ts` and `js/trainer/tables.ts` are for the page, the documents for people; a test
holds all of `FILES` equal to their sources.
"""

import ast
import dataclasses
import inspect
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dshq_kernels.simd.lanes import LANES
from dshq_widget import algorithms
from dshq_widget.algorithms import algorithm
from dshq_widget.cli.main import plugged
from dshq_widget.contract import labels, messages, presets, protocol, run_file, sections, setting, settings
from dshq_widget.contract.game_spec import (
    DEFAULT_ALGORITHM,
    Cells,
    Choice,
    DrillSpec,
    Field,
    GameSpec,
    Handle,
    Observation,
    Term,
)
from dshq_widget.contract.json_fields import JSON_FIELDS, Entry
from dshq_widget.contract.metrics import METRIC_CATEGORIES, METRICS, REWARD_TERM, Metric, of_machine
from dshq_widget.contract.page_attributes import PAGE_ATTRIBUTES
from dshq_widget.contract.statistics import Z95
from dshq_widget.drill import palette
from dshq_widget.drill.declaration import Drill
from dshq_widget.drills import drills
from dshq_widget.gyms.environment import EnvironmentSpec, Made
from tools import drill_tables, typescript
from tools.markdown import table
from tools.trainer_tables import trainer_ts

ROOT = Path(__file__).parent.parent
GAME_TYPES = (Field, Choice, Observation, Term, Handle, Cells, GameSpec, DrillSpec, Made, EnvironmentSpec)
EXPLAINED = ("return_mean", "entropy")
"""Metrics whose sentences the page shows; the others would only make it larger."""


def tables_ts() -> str:
    """`js/contract/tables.ts`: what the page shares with the kernel, as TypeScript constants."""
    constants = {
        "PROTOCOL_VERSION": protocol.PROTOCOL_VERSION,
        "STATUSES": protocol.STATUSES,
        "MODES": protocol.MODES,
        "SPEEDS": protocol.SPEEDS,
        "STEP_UNITS": protocol.STEP_UNITS,
        "PANELS": tuple(protocol.PANELS),
        "PAGE_ATTRIBUTES": tuple(PAGE_ATTRIBUTES),
        "TABS": protocol.TABS,
        "SWAPS": protocol.SWAPS,
        "RENDERERS": protocol.RENDERERS,
        "REST_SECONDS": protocol.REST_SECONDS,
        "MOST_REPEAT": protocol.MOST_REPEAT,
        "REPLAY_FORMAT": protocol.REPLAY_FORMAT,
        "DEFAULT_ALGORITHM": DEFAULT_ALGORITHM,
        "CONTROLS": labels.CONTROLS,
        "SHOW_DEFAULTS": protocol.SHOW_DEFAULTS,
        "Z95": Z95,
        "SWAP_INTERVAL_MS_MIN": protocol.SWAP_INTERVAL_MS_MIN,
        "METRICS": {name: dataclasses.asdict(METRICS[name]) for name in EXPLAINED},
        "MACHINE_METRICS": [name for name in METRICS if of_machine(name)],
        "REWARD_TERM": dataclasses.asdict(REWARD_TERM),
        "PAINTS": {name: _without_zeros(paint) for name, paint in palette.PAINTS.items()},
        "GROUNDS": {theme: dataclasses.asdict(ground) for theme, ground in palette.GROUNDS.items()},
    }
    head = "// Written by `make tables` from dshq_widget/contract and drill/palette.py: change it there.\n"
    body = [f"export const {name} = {json.dumps(value, indent=2)} as const;\n" for name, value in constants.items()]
    return "\n".join([head, *body])


def game_ts() -> str:
    """`js/contract/game.ts`: what a game says of itself, as TypeScript types."""
    head = "/** What a game is. Written by `make tables` from dshq_widget/contract/game_spec.py: change it there. */\n"
    return "\n".join([head, *(typescript.interface(kind) for kind in GAME_TYPES)])


def messages_ts() -> str:
    """`js/contract/messages.ts`: the messages between page and kernel, as TypeScript types."""
    head = "/** Messages between page and kernel. Written by `make tables` from dshq_widget/contract/messages.py. */\n"
    kinds = [typescript.message(kind) for kind in dict.fromkeys((*protocol.FROM_PAGE, *protocol.TO_PAGE))]
    parts = [typescript.interface(kind) for kind in (messages.ShowEvent, messages.PlanStart)]
    unions = [
        typescript.union("PageToKernel", protocol.FROM_PAGE),
        typescript.union("KernelToPage", protocol.TO_PAGE),
    ]
    return "\n".join([head, *parts, *kinds, *unions])


def _without_zeros(paint: palette.Paint) -> dict[str, Any]:
    return {key: value for key, value in dataclasses.asdict(paint).items() if value}


def contract_md() -> str:
    """`docs/contract.md`: fields of `--json` and attributes of the page; where the other tables are."""
    known = algorithms.algorithms.values()
    verbs = {
        **JSON_FIELDS,
        **{name: fields for verb in plugged() for name, fields in getattr(verb, "answers", {}).items()},
    }
    parts = [
        "# One vocabulary",
        "Written by `make tables` from the files of dshq_widget/contract: change it there.",
        "The same word in Python, YAML, flags, messages and on the page: [settings, metrics](reference/settings.md), "
        "[what each algorithm adds](reference/algorithms.md), [messages, names of buttons](develop/protocol.md), "
        "[what a drill's numbers mean](reference/drill-tables.md), [terms](reference/glossary.md).",
        "## Attributes of the page",
        "The root of the page, `.dshq-widget`, has each as `data-NAME`. Empty means not known.",
        _entries("name", PAGE_ATTRIBUTES),
        "## Answers of the command line",
        "With `--json` the last line of stdout is one JSON object.",
    ]
    for verb, fields in verbs.items():
        parts += [f"### {verb}", _entries("field", fields)]
        if verb == "train":
            for each in known:
                added = {key: each.answers.get(key) or _metric_entry(key) for key in each.summary({})}
                parts += [f"With {each.name} also:", _entries("field", added)] if added else []
    return "\n\n".join(parts) + "\n"


def _metric_entry(name: str) -> Entry:
    return Entry(METRICS[name].unit, METRICS[name].text)


def _entries(what: str, entries: Mapping[str, Entry]) -> str:
    rows = [(f"`{name}`", entry.value, entry.meaning) for name, entry in entries.items()]
    return table((what, "value", "meaning"), rows)


def settings_md() -> str:
    """`docs/reference/settings.md`: every setting and metric with its unit, range and meaning."""
    parts = [
        "# Settings, metrics, files of runs",
        "Written by `make tables` from the files of dshq_widget/contract: change it there.",
        "## Hyper-parameters",
        "The same key in Python (`DrillWidget`, `Trainer`, `train`, `set_hyper`), in YAML, as `--flag-with-dashes` and "
        "in messages. Precedence: defaults < YAML < flags < keywords. A change takes effect now, at the next update, "
        "or at the next start of training (restart).",
        table(
            ("key", "default", "range", "unit", "takes effect", "meaning"), [_setting(key) for key in settings.FIELDS]
        ),
        "Accepted on input and stored under the key above: "
        + ", ".join(f"`{alias}` ({key})" for alias, key in settings.ALIASES.items())
        + ", `num_minibatches` (divides `num_envs` x `rollout_length`). `hidden_dim` is the width of two layers, and "
        "`decay_learning_rates` true or false. `num_minibatches` keeps the number of games and the rollout from being "
        "fitted to the machine. In YAML files "
        + " and ".join(f"`{alias}` ({key})" for alias, key in run_file.RUN_ALIASES.items())
        + " go to the section `run`.",
        "`num_envs`, `rollout_length` and `minibatch_size` are fitted to the machine where neither you nor the drill "
        "sets them. Half a processor plays 512 games, one to seven processors 1,024, eight and more 2,048, 32 and more "
        "4,096. The minibatch grows with the games. Where memory is short, the games are fewer and the rollouts "
        "shorter. `deterministic` keeps the defaults. Gymnasium environments start from "
        "[settings of their own](gymnasium.md#what-it-starts-from).",
        "## Files of runs",
        "`dshq train --config FILE` reads sections `run`, "
        + ", alias ".join(f"`{section}`" for section in settings.SECTIONS)
        + ", and one for each algorithm with settings of its own; the other algorithms ignore it. Unknown sections and "
        "keys are errors. `training_core` has the keys above. Paths are relative to the file. `run` has:",
        table(("key", "range", "unit", "meaning"), [_run_key(key) for key in run_file.RUN_KEYS])
        + "\n\nand "
        + " and ".join(f"`{key}`" for key in run_file.SHARED)
        + ", which may stand in either section.",
        "## Presets",
        "`DrillWidget(preset=...)`, `Trainer(preset=...)`, and a list on the page; above a drill's own settings and "
        "below keywords. A preset sets "
        + ", ".join(f"`{key}`" for key in presets.KEYS)
        + ": those that it does not name are the drill's own, fitted to the machine.",
        table(("preset", "sets", "meaning"), [_preset(name) for name in presets.PRESETS]),
        "## Metrics",
        "Flat names, of every run; those of each algorithm are in [algorithms.md](algorithms.md). Each reward term of "
        "the drill adds `reward_<term>`: " + REWARD_TERM.text,
    ]
    known = algorithms.algorithms.values()
    own = {name for each in known for name in each.metrics}
    own |= {name for each in known for engine in each.engines.values() for name in engine.metrics}
    for category in METRIC_CATEGORIES:
        shared = {k: metric for k, metric in METRICS.items() if metric.category == category and k not in own}
        parts += [f"### {category}", _metrics(shared)]
    parts += [
        "## Panels",
        "`DrillWidget(controls=[...])` and `w.controls = [...]` show only the panels named; `[]` is the match alone, "
        "`None` all of them, which is the default. A tab's name, in lower case, stands for its panels; a tab without "
        "panels is not there.",
        table(
            ("panel", "tab", "what it shows"),
            [(f"`{name}`", _tab(name), text) for name, text in protocol.PANELS.items()],
        ),
    ]
    return "\n\n".join(parts) + "\n"


def protocol_md() -> str:
    """`docs/develop/protocol.md`: what page and kernel say to each other, and how a test finds a control."""
    parts = [
        "# Protocol",
        "Written by `make tables` from the files of dshq_widget/contract: change it there. Settings and metrics are in "
        "[settings.md](../reference/settings.md); who sends what and when is in [architecture.md](../architecture.md).",
    ]
    parts += [
        "## The show",
        "Trait `show`, defaults: "
        + ", ".join(f"`{k}` {json.dumps(v)}" for k, v in protocol.SHOW_DEFAULTS.items())
        + ". "
        + "Modes: "
        + ", ".join(f"`{mode}`" for mode in protocol.MODES)
        + ". Speeds offered: "
        + ", ".join(f"{speed:g}" for speed in protocol.SPEEDS)
        + " times real time. Swaps of policy: "
        + ", ".join(f"`{swap}`" for swap in protocol.SWAPS)
        + ". Statuses: "
        + ", ".join(f"`{status}`" for status in protocol.STATUSES)
        + ".",
        "## Controls",
        "Every button, tab, chip, slider and field of the page has a `data-control`. It stays when its accessible name "
        "changes.",
        table(("id", "accessible name"), [(f"`{key}`", name) for key, name in labels.CONTROLS.items()]),
        "In these a word in capitals stands for what differs:",
        table(("id", "what it is"), [(f"`{key}`", text) for key, text in labels.PATTERNS.items()]),
        "## Messages",
        f"Protocol version {protocol.PROTOCOL_VERSION}. Every message is an object with a `type`; `...` stands for any "
        "hyper-parameters, each under its key.",
    ]
    for direction, kinds in protocol.MESSAGES.items():
        lines = [(f"`{name}`", ", ".join(f"`{field}`" for field in fields)) for name, fields in kinds.items()]
        parts += [f"### {direction.replace('_', ' ').capitalize()}", table(("type", "fields"), lines)]
    return "\n\n".join(parts) + "\n"


def _metrics(metrics: Mapping[str, Metric]) -> str:
    rows = [
        (f"`{name}`", metric.unit, {True: "rise", False: "fall", None: ""}[metric.should_rise], metric.text)
        for name, metric in metrics.items()
    ]
    return table(("name", "unit", "should", "meaning"), rows)


def _tab(panel: str) -> str:
    return next((tab.capitalize() for tab, panels in protocol.TABS.items() if panel in panels), "")


def _setting(key: str) -> tuple[str, ...]:
    spec = settings.FIELDS[key]
    default = setting.written(settings.TrainConfig().to_json()[key])
    limits = setting.limits(spec, unit=False)
    return (f"`{key}`", default, limits, spec["unit"], spec["effect"], settings.field_docs()[key])


def _run_key(key: str) -> tuple[str, ...]:
    spec = run_file.RUN_KEYS[key]
    kinds = {"text": "a name or a path", "bool": "true or false"}
    limits = kinds.get(spec["kind"]) or setting.limits(spec, unit=False)
    return (f"`{key}`", limits, spec["unit"], run_file.MEANINGS[key])


def algorithms_md() -> str:
    """`docs/reference/algorithms.md`: what each algorithm can do, and its own settings."""
    known = algorithms.algorithms.values()
    rows = [
        (what, *(f"no: {each.refuses[feature]}" if feature in each.refuses else "yes" for each in known))
        for feature, what in algorithm.FEATURES.items()
    ]
    engines = {name: engine.text for each in known for name, engine in each.engines.items()}
    rows += [(text, *("yes" if name in each.engines else "no" for each in known)) for name, text in engines.items()]
    parts = [
        "# Algorithms",
        "Written by `make tables` from what each algorithm in dshq_widget/algorithms declares: change it there.",
        "`dshq train DRILL --algorithm NAME`, `Trainer(drill, algorithm=NAME)`. By default it is the algorithm that a "
        f"`.dshq` file names, else the one that the drill declares (`Drill.algorithm`), else {DEFAULT_ALGORITHM}. "
        "If an algorithm does not support something, the table shows the error message. What has "
        "run on a GPU so far is in [gpu.md](../howto/gpu.md), and which of PPO's details are in is in "
        "[ppo.md](../explain/ppo.md).",
        table(("", *(f"`{each.name}`" for each in known)), rows),
    ]
    for each in known:
        if each.settings is not None:
            shared = ", ".join(
                f"`{key}`" + " (at the next start)" * (key in each.at_start) for key in each.shared_settings
            )
            parts += [
                f"## Settings of {each.name}",
                f"Of the [shared settings](settings.md#hyper-parameters) it reads {shared}. Its own:",
                f"Section `{each.name}` of a run's file, `--{each.name}-KEY`, "
                f"`Trainer(algorithm_settings={{{each.name!r}: {{...}}}})`.",
                table(
                    ("key", "default", "range", "unit", "meaning"),
                    [
                        (
                            f"`{key}`",
                            setting.written(getattr(each.settings(), key)),
                            setting.limits(spec, unit=False),
                            spec["unit"],
                            setting.docs(each.settings)[key],
                        )
                        for key, spec in sections.fields(each.settings).items()
                    ],
                ),
            ]
            if each.settings.ALIASES:
                named = ", ".join(f"`{alias}` ({key})" for alias, key in each.settings.ALIASES.items())
                parts.append(f"Accepted on input and stored under the key above: {named}.")
        own = {**each.metrics, **{k: one for engine in each.engines.values() for k, one in engine.metrics.items()}}
        parts += [f"## Metrics of {each.name}", _metrics(own)]
    return "\n\n".join(parts) + "\n"


LAYOUTS = {
    "A file of a policy": "dshq_widget/policy/checkpoint.py",
    "The weights of a policy": "dshq_widget/policy/network.py",
    "Layers in front, and a memory": "kernels/dshq_kernels/network/layers.py",
    "Pictures and numbers": "dshq_widget/policy/layout.py",
    "The weights of convolutions": "dshq_widget/policy/convolutions.py",
    "Weights in shared memory": "dshq_widget/runtime/slots.py",
    "Experience in shared memory": "dshq_widget/runtime/ring.py",
    "Frames of two bits": "dshq_widget/pixels/packing.py",
    "A replay of frames": "dshq_widget/pixels/ring.py",
}
"""What lies in bytes somewhere -> the module whose docstring says how."""


def layouts_md() -> str:
    """`docs/reference/layouts.md`: how bytes lie in files and in memory."""
    parts = [
        "# Byte layouts",
        "Written by `make tables` from the docstrings of the modules that are named: change it there. The state of a "
        "drill's games is in [its tables](drill-tables.md); which versions of a file open is in [files.md](files.md).",
    ]
    for what, path in LAYOUTS.items():
        said = ast.get_docstring(ast.parse((ROOT / path).read_text(encoding="utf-8"))) or ""
        parts += [f"## {what}", f"`{path}`", said]
    return "\n\n".join(parts) + "\n"


def drill_tables_md() -> str:
    """`docs/reference/drill-tables.md`: what each drill's observations and actions are, and the bytes of its state."""
    parts = [
        "# What the drills' numbers mean",
        "Written by `make tables` from the drills in dshq_widget/drills: change it there. `dshq info DRILL` prints the "
        "same of any drill, of your own, too; with `--json` every row is there. Pictures and rules are in "
        "[drills.md](drills.md).",
        "The network reads value / scale: `scale` is the value, in `unit`, that reads 1. u is the drill's own unit of "
        "length. A row with … stands for a family of numbers, the index of the first and of the last one.",
        f"Games lie in memory in tiles of {LANES}, little-endian, 4 bytes a number: number n of a field that begins at "
        f"byte b is, for game g of the tile, at byte b + {4 * LANES} n + 4 g. The page and the kernel have the same "
        "bytes.",
    ]
    for name, drill in drills.items():
        parts += [f"## {name}", f"*{drill.title}*: {_about(drill)}", drill_tables.tables(drill, level=3)]
    return "\n\n".join(parts) + "\n"


def _about(drill: type[Drill]) -> str:
    return " ".join((inspect.getdoc(drill) or "").partition("\n\n")[0].split())


def _preset(name: str) -> tuple[str, ...]:
    preset = presets.PRESETS[name]
    sets = ", ".join(
        f"`{key}` {value:.12g}" if key != "device" else f"`{key}` {value}" for key, value in preset.hyper.items()
    )
    return (f"`{name}`", sets, preset.help)


FILES = {
    "js/contract/tables.ts": tables_ts,
    "js/contract/game.ts": game_ts,
    "js/contract/messages.ts": messages_ts,
    "js/trainer/tables.ts": trainer_ts,
    "docs/contract.md": contract_md,
    "docs/reference/settings.md": settings_md,
    "docs/reference/algorithms.md": algorithms_md,
    "docs/reference/drill-tables.md": drill_tables_md,
    "docs/reference/layouts.md": layouts_md,
    "docs/develop/protocol.md": protocol_md,
}
"""File -> what writes its text."""


def main() -> None:
    for path, written in FILES.items():
        (ROOT / path).write_text(written(), encoding="utf-8")


if __name__ == "__main__":
    main()
