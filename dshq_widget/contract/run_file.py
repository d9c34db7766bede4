"""YAML files of runs: what `dshq train --config` reads and what it writes beside a policy.

    format: 1           # of this file; release 0.1.0 wrote none
    run:                # what to train, for how long, and where it goes; paths are relative to the file
      drill: ball
      algorithm: ppo
      updates: 200
      out: bot.dshq
    training_core:      # the settings of settings.py; alias ppo_core
      learning_rate: 0.003
    mine: {...}         # an algorithm's own settings (sections.py); other algorithms ignore them

Everything is optional. Unknown sections and keys are errors that name the nearest one.

Such a file is code: it may name a Python file to run, a cluster to join, a server to report to, and where to write.
`reaches` says what of that it does, and `dshq train` asks before it follows a file there (cli/run_plan.py).
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from dshq_widget.contract import setting, settings
from dshq_widget.contract.setting import ConfigError, nearest, parse_value
from dshq_widget.contract.settings import SECTIONS

RUN, FORMAT = "run", 1
HEAD = "# Written by `dshq train`. `dshq train --config THIS_FILE` repeats the run.\n"
"""The first line of what `text` makes."""


def _about(kind: str, unit: str = "", lo: float | None = None, hi: float | None = None) -> dict[str, Any]:
    return setting.about(kind, "", "", "", unit=unit, lo=lo, hi=hi)


RUN_KEYS: dict[str, Mapping[str, Any]] = {
    "drill": _about("text"),
    "drill_file": _about("text"),
    "algorithm": _about("text"),
    "network": _about("text"),
    "engine": _about("text"),
    "ray_address": _about("text"),
    "seconds": _about("float", "s", 0.001, 1e9),
    "updates": _about("int", "updates", 1, 1e12),
    "agent_steps": _about("int", "agent steps", 1, 1e15),
    "out": _about("text"),
    "latest": _about("bool"),
    "log_dir": _about("text"),
    "track": _about("text"),
}
"""Keys of the section `run`, besides `SHARED`."""
MEANINGS = {
    "drill": "What is trained: a drill's name, a Python file with a Drill class, gym:ID, or a .dshq file to continue.",
    "drill_file": "The Python file of the drill that the .dshq file was trained on.",
    "algorithm": "What trains; by default the .dshq file's algorithm, else the one that the drill declares.",
    "network": "A network of your own: module:NAME, or a Python file and its name, my_network.py:NAME.",
    "engine": "Where the games are played: local, or ray, a Ray cluster.",
    "ray_address": "Head of the Ray cluster, HOST:PORT.",
    "seconds": "Training time, without start-up and evaluation.",
    "updates": "Stop at exactly this update.",
    "agent_steps": "Stop at the first update that reaches these agent steps.",
    "out": "Save the policy to this file, NAME.dshq, and its settings beside it, NAME.yaml.",
    "latest": "Save the latest policy and everything needed to continue exactly, even if the league's champion is "
    "stronger.",
    "log_dir": "Folder for metrics (CSV and TensorBoard files), the autosave and the settings, run.yaml.",
    "track": "Send metrics to experiment trackers: mlflow[:URI], wandb[:PROJECT] or otlp[:URL], several with commas.",
}
"""Key -> what it says, for the document and the help of `dshq train`."""
SHARED = ("autosave_seconds", "evaluate_seconds")
"""Settings that may stand in `run`, too: they say nothing about what is learned."""
HERE = ("local", "page")
"""Engines on which nothing leaves this machine."""
BUDGETS = ("seconds", "updates", "agent_steps")
RUN_ALIASES = {"num_updates": "updates", "task_id": "drill"}
"""Other spellings of keys of `run`; they may stand in `training_core`, too."""
TASKS = {"BinPack-v0": "binpack", "Maze-v0": "maze", "Snake-v0": "snake"}
"""Other names of drills, accepted with `task_id`."""
PATHS = ("out", "log_dir", "drill_file")
MOST_BYTES = 1 << 16
"""Of a run file: numbers of many digits and nested lists take the square of their length (assumed)."""
MOST_KEYS = 1024
"""Settings of one section, those that YAML merges into it included (assumed): many times those that there are."""
DEEPEST = 16
"""Brackets inside brackets (assumed). Each makes all that follow dearer to read: 6 kB of them took 6 s."""
MERGE = "tag:yaml.org,2002:merge"
"""What YAML calls the key `<<`."""


@dataclasses.dataclass(frozen=True)
class RunFile:
    """The content of one file, checked; `algorithms` holds the algorithms' sections, which their readers check."""

    run: dict[str, Any] = dataclasses.field(default_factory=dict)
    core: dict[str, Any] = dataclasses.field(default_factory=dict)
    algorithms: dict[str, dict[str, Any]] = dataclasses.field(default_factory=dict)


def read(path: str | os.PathLike[str], algorithms: Collection[str] = ()) -> RunFile:
    """Read a file. `algorithms`: those with settings of their own, whose sections may be there. Raises ConfigError."""
    file = Path(path)
    content = _load(file)
    found = content.pop("format", FORMAT)
    if type(found) is not int or not 1 <= found <= FORMAT:
        newer = type(found) is int and found > FORMAT
        mend = "it is of a newer release; update dshq-widget" if newer else "leave the line out"
        raise ConfigError(
            f"wanted a configuration of format {FORMAT} at most, got {setting.shown(found)} in {str(path)!r}: {mend}"
        )
    known = (RUN, *SECTIONS, *algorithms)
    for section, values in content.items():
        if section not in known:
            raise ConfigError(
                f"unknown section {str(section)!r} in {str(path)!r}"
                f"{nearest(section, known) or '; the sections are ' + ', '.join(known)}"
            )
        if values is None:  # every line of it is a comment
            content[section] = {}
        elif not isinstance(values, dict):
            raise ConfigError(
                f"the section {section} in {str(path)!r} must contain settings, got {setting.shown(values)}"
            )
    if set(SECTIONS) <= set(content):
        raise ConfigError(f"{str(path)!r} has training_core and its alias ppo_core: leave one out")
    core: dict[str, Any] = next((content[name] for name in SECTIONS if name in content), {})
    run, core = _moved(content.get(RUN, {}), core)
    core = settings.canonical(core, None)
    parsed = _run(run, core)
    for key in _paths(parsed):
        parsed[key] = _beside(file, parsed[key])
    return RunFile(parsed, core, {name: content[name] for name in algorithms if name in content})


def reaches(path: str | os.PathLike[str], run: Mapping[str, Any]) -> dict[str, str]:
    """Which keys of the section `run` of the file at `path` reach beyond data, and what they do: run Python, join a
    cluster, send metrics away, write outside the file's own folder.
    """
    folder = Path(path).absolute().parent.resolve()
    found = {}
    for key in ("drill", "drill_file"):
        name = str(run.get(key, ""))
        if name.endswith(".py") or (name.startswith("gym:") and ":" in name.removeprefix("gym:")):
            found[key] = f"runs the Python code of {name}"
    if run.get("network"):
        found["network"] = f"runs the Python code of {run['network']}"
    if run.get("ray_address"):
        found["ray_address"] = f"joins the Ray cluster at {run['ray_address']}"
    if run.get("engine", "local") not in HERE:  # also without an address: Ray finds one by itself
        found["engine"] = f"plays elsewhere, on the engine {run['engine']}"
    if run.get("track"):
        found["track"] = f"sends metrics to {without_secrets(run['track'])}"
    for key in ("out", "log_dir"):
        if key in run and not Path(run[key]).absolute().resolve().is_relative_to(folder):
            found[key] = f"writes to {run[key]}, outside its folder"
    return found


def without_secrets(track: str) -> str:
    """Trackers and places, `mlflow:http://user:password@host`, without user, password and what stands behind a `?`."""
    return ",".join(re.sub(r"//[^/@?#]*@", "//", part.partition("?")[0]) for part in track.split(","))


def is_a_persons(file: Path) -> bool:
    """Whether something is there that `text` has not made. Raises OSError."""
    if not file.exists():
        return False
    with file.open("rb") as content:
        return content.read(len(HEAD)) not in (b"", HEAD.encode())


def _load(file: Path) -> dict[Any, Any]:
    import yaml  # kept out of `import dshq_widget`

    class Once(yaml.SafeLoader):
        """Of two keys of one name YAML takes the last, without a word."""

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            names: set[tuple[str, str]] = set()
            for key, _ in node.value:
                if isinstance(key, yaml.ScalarNode):
                    if (name := (key.tag, key.value)) in names:
                        line = key.start_mark.line + 1
                        raise ConfigError(f"{key.value:.60} is given twice in {str(file)!r}, line {line}: remove one")
                    names.add(name)
            return super().construct_mapping(node, deep)

        def fetch_flow_collection_start(self, kind: Any) -> None:
            if self.flow_level >= DEEPEST:
                raise ConfigError(
                    f"{str(file)!r}, line {self.line + 1}: more than {DEEPEST} brackets inside one another: no setting "
                    "has such a value"
                )
            super().fetch_flow_collection_start(kind)

        def flatten_mapping(self, node: Any) -> None:
            """Each merge of a list may hold ten times the one before: 600 bytes, and gigabytes in some releases."""
            merges = [(key, value) for key, value in node.value if key.tag == MERGE]
            if len(merges) > 1 or any(isinstance(value, yaml.SequenceNode) for _, value in merges):
                line = merges[-1][0].start_mark.line + 1
                raise ConfigError(f"{str(file)!r}, line {line}: merge one mapping with <<, not several")
            super().flatten_mapping(node)
            if len(node.value) > MOST_KEYS:
                raise ConfigError(
                    f"{str(file)!r} has {len(node.value):,} settings in one section, more than {MOST_KEYS:,}: "
                    "leave out what is no setting"
                )

    try:
        with file.open("rb") as opened:
            text = opened.read(MOST_BYTES + 1)
        if len(text) > MOST_BYTES:
            raise ConfigError(f"{str(file)!r} has more than {MOST_BYTES:,} bytes: leave out what is no setting")
        content = yaml.load(text.decode(), Once)
    except ConfigError:
        raise
    except OSError as error:
        raise ConfigError(f"cannot read the configuration {str(file)!r}: {error.strerror or error}") from error
    except (yaml.YAMLError, ArithmeticError, ValueError, RecursionError) as error:  # of numbers of many digits, too
        raise ConfigError(f"{str(file)!r} is not valid YAML: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict) or not content:
        raise ConfigError(f"{str(file)!r} must contain a section training_core with settings, or a section run")
    return content


def _moved(run: Mapping[str, Any], core: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The other spellings of keys of `run` go there from both sections, and settings that `run` shares to the core."""
    out: dict[str, Any] = {}
    moved = {key: value for key, value in core.items() if str(key).replace("-", "_") in RUN_ALIASES}
    rest = {key: value for key, value in core.items() if key not in moved}
    for given, value in [*run.items(), *moved.items()]:
        name = str(given).replace("-", "_")
        key = RUN_ALIASES.get(name, name)
        if key in SHARED:
            if key in rest:
                raise ConfigError(f"{key} is given in run and in training_core: leave one out")
            rest[key] = value
            continue
        if key in out:
            raise ConfigError(f"{key} is given twice, the second time as {str(given)!r}: remove one")
        out[key] = TASKS.get(value, value) if name == "task_id" and isinstance(value, str) else value
    return out, rest


def _run(values: Mapping[str, Any], core: Mapping[str, Any]) -> dict[str, Any]:
    parsed = {}
    for key, value in values.items():
        if key not in RUN_KEYS:
            known = [*RUN_KEYS, *SHARED, *RUN_ALIASES]
            hint = nearest(key, known) or "; its keys are " + ", ".join([*RUN_KEYS, *SHARED])
            if key in settings.FIELDS or key in settings.ALIASES:
                hint = "; it belongs in training_core"
            raise ConfigError(f"unknown key {key!r} in section run{hint}")
        parsed[key] = parse_value(f"run.{key}", value, RUN_KEYS[key])
        if isinstance(parsed[key], str) and not parsed[key].isprintable():  # it is shown to who may trust it
            raise setting.wanted(f"run.{key}", "a line of letters without control characters", value)
    budgets = [key for key in BUDGETS if key in parsed]
    if len(budgets) > 1:
        raise ConfigError(f"run has one budget, got {' and '.join(budgets)}: leave out all but one")
    return parsed


def _paths(run: Mapping[str, Any]) -> list[str]:
    """The keys of the section `run` that hold paths. A drill may be a name instead, a drill's file an environment's."""
    found = [key for key in PATHS if key in run and not str(run[key]).startswith("gym:")]
    return found + ["drill"] * str(run.get("drill", "")).endswith((".py", ".dshq"))


def _beside(file: Path, path: str) -> str:
    """A path in the file, relative to the file's folder."""
    return os.path.normpath(file.parent / os.path.expanduser(path))


def _seen_from(folder: Path, path: str) -> str:
    """A path for the file in `folder`: relative, but for another drive of Windows, to which no relative one leads."""
    whole = os.path.abspath(os.path.expanduser(path))
    try:
        return Path(os.path.relpath(whole, folder)).as_posix()
    except ValueError:
        return Path(whole).as_posix()


def text(
    file: Path,
    run: Mapping[str, Any],
    config: settings.TrainConfig,
    sides: int,
    algorithm: str = "",
    section: Mapping[str, Any] | None = None,
) -> str:
    """The content of `file` with which `read` gives the same run: every setting, so that other defaults or another
    machine change nothing, but no password. `section` are the algorithm's own settings. A drill of one side has no
    opponents.
    """
    import yaml

    folder = file.absolute().parent
    core = config.to_json()
    if sides == 1:
        core.pop("opponents")
    said = {key: run[key] for key in RUN_KEYS if run.get(key) is not None}
    if "track" in said:
        said["track"] = without_secrets(said["track"])
    for key in _paths(said):
        said[key] = _seen_from(folder, said[key])
    said |= {key: core.pop(key) for key in SHARED}
    content: dict[str, Any] = {"format": FORMAT, RUN: said, SECTIONS[0]: core}
    if section:
        content[algorithm] = dict(section)
    return HEAD + yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
