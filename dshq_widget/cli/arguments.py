"""Command line arguments of every `dshq` verb, with their defaults."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

from dshq_widget import algorithms
from dshq_widget.contract import run_file, sections, setting, settings
from dshq_widget.contract.json_fields import Entry
from dshq_widget.contract.version import __version__

SECONDS = 60.0
"""Default duration of `dshq train`."""
POLICY = "a .dshq file, or a policy of the package such as ball:gold"
"""Help of the argument that names a policy."""

BENCHES: dict[str, str] = {
    "cuda": "dshq_widget.cli.bench_cuda:bench_cuda",
}
"""Device -> what measures it besides `bench`, which measures the processor."""
Verb = Callable[[argparse.Namespace], Any]


class UsageError(ValueError):
    """Wrong command line input. The message says what to write instead."""


class Parser(argparse.ArgumentParser):
    """Raises UsageError where argparse would end the process."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see `{self.prog} --help`")

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse's; what is unknown behind a verb points to the verb's own help."""
        options, unknown = self.parse_known_args(args, namespace)
        if unknown:
            where = f"{self.prog} {options.verb}" if "verb" in options else self.prog
            raise UsageError(f"unrecognized arguments: {' '.join(unknown)}; see `{where} --help`")
        return options


def flag_of(key: str) -> str:
    """How the command line spells a setting or an argument."""
    return "--" + key.replace("_", "-").replace(".", "-")


def whole(text: str) -> int:
    """A whole number, also as 1e6."""
    for read in (int, float):
        with contextlib.suppress(ValueError, OverflowError):
            number: float = read(text)
            if number == int(number):
                return int(number)
    raise argparse.ArgumentTypeError(f"wanted a whole number such as 200 or 1e6, got {text!r:.60}")


def takes(
    arguments: Callable[[Parser], None], answers: Mapping[str, Mapping[str, Entry]] | None = None
) -> Callable[[Verb], Verb]:
    """A verb with a function that adds its arguments to its parser, and with what it says with `--json`: fields under
    its name, or under "its-name deed".
    """

    def with_arguments(verb: Verb) -> Verb:
        verb.arguments = arguments  # type: ignore[attr-defined]
        verb.answers = answers or {}  # type: ignore[attr-defined]
        return verb

    return with_arguments


def parser(verbs: Iterable[Verb]) -> Parser:
    """The parser of `dshq`. Each verb has the name of its function; the first line of the function's docstring is its
    help. The parsed options hold the function as `run`.
    """
    dshq = Parser(prog="dshq", description="Drills that play in a notebook cell and learn while you watch.")
    dshq.add_argument("--version", action="version", version=__version__)
    offered = dshq.add_subparsers(dest="verb", required=True, parser_class=Parser, metavar="VERB")
    for run in verbs:
        summary = (run.__doc__ or "").splitlines()[0]
        verb = offered.add_parser(run.__name__, help=summary, description=summary)
        verb.add_argument("--json", action="store_true", help="print one JSON object as the last line")
        verb.set_defaults(run=run)
        arguments = ARGUMENTS.get(run.__name__) or getattr(run, "arguments", None)
        if arguments:
            arguments(verb)
    return dshq


def know_algorithm(arguments: list[str]) -> None:
    """Make the algorithm after `--algorithm` known before the options are read: one of your own, `module:NAME`, has
    flags, too. Raises ValueError where it cannot be imported.
    """
    first = Parser(add_help=False, allow_abbrev=False)
    first.add_argument("--algorithm", nargs="?")
    named = first.parse_known_args(arguments)[0].algorithm
    if named is not None:
        algorithms.chosen(named)


def _network(verb: Parser) -> None:
    verb.add_argument(
        "--network",
        metavar="MODULE:NAME",
        help="a network of your own, module:NAME or my_network.py:NAME (docs/howto/own-network.md)",
    )


def _train(verb: Parser) -> None:
    verb.add_argument(
        "start",
        nargs="?",
        metavar="drill",
        help="a drill's name, a Python file with a Drill class, gym:ID, or a policy to continue from: a .dshq file or "
        "ball:bronze, ball:silver, ball:gold; not needed if --config names one",
    )
    _drill(verb)
    verb.add_argument(
        "--algorithm",
        help=f"{', '.join(algorithms.algorithms)}, or one of your own, module:NAME (default: that of the .dshq file, "
        "else what the drill declares)",
    )
    _network(verb)
    verb.add_argument(
        "--seconds",
        type=float,
        help=(
            f"training time in seconds, without start-up and evaluation (default {SECONDS:g}; a drill with a "
            "target stops earlier once it is solved)"
        ),
    )
    verb.add_argument("--updates", type=whole, help="stop at exactly this update, instead of --seconds")
    verb.add_argument("--num-updates", dest="updates", type=whole, help=argparse.SUPPRESS)
    verb.add_argument(
        "--agent-steps",
        type=whole,
        help="stop at the first update that reaches these agent steps, instead of --seconds",
    )
    verb.add_argument("--out", help=_meaning("out"))
    verb.add_argument("--latest", action="store_true", default=None, help=_meaning("latest"))
    verb.add_argument("--log-dir", help=_meaning("log_dir"))
    verb.add_argument(
        "--config",
        metavar="RUN.yaml",
        help="YAML file of a run (docs/reference/command-line.md); flags override what it says",
    )
    verb.add_argument(
        "--trust-config",
        action="store_true",
        help=(
            "let the --config file run Python files, join a Ray cluster, send metrics to trackers and write outside "
            "its folder: only for a file that is yours"
        ),
    )
    verb.add_argument(
        "--engine",
        choices=algorithms.engines(),
        metavar="local|ray",
        help="where games are played: on this machine, or on a Ray cluster (docs/howto/ray.md; default local)",
    )
    verb.add_argument(
        "--ray-address",
        metavar="HOST:PORT",
        help="the cluster's head (default: the one in RAY_ADDRESS, else the cluster that this machine is a node of)",
    )
    verb.add_argument("--quiet", action="store_true", help="don't show a progress bar")
    verb.add_argument(
        "--dashboard", action="store_true", help="show all metrics, redrawn in place, instead of a progress bar"
    )
    verb.add_argument("--track", metavar="WHERE", help=_meaning("track"))
    _shared_settings(verb)
    _own_settings(verb)


def _shared_settings(verb: Parser) -> None:
    shared = verb.add_argument_group("settings", "A drill may have defaults of its own.")
    _settings(shared, settings.TrainConfig, settings.FIELDS, settings.field_docs())
    for alias, key in settings.ALIASES.items():
        dest = alias if alias in settings.OTHER_VALUES else key
        shared.add_argument(flag_of(alias), dest=dest, help=argparse.SUPPRESS)
    shared.add_argument(
        flag_of(settings.DIVISOR),
        metavar="VALUE",
        help="Minibatches of a rollout, num_envs x rollout_length, in place of --minibatch-size.",
    )


def _own_settings(verb: Parser) -> None:
    for algorithm in algorithms.algorithms.values():
        if algorithm.settings is not None:
            own = verb.add_argument_group(f"settings of {algorithm.name}", "Other algorithms ignore them.")
            described = sections.fields(algorithm.settings), setting.docs(algorithm.settings)
            _settings(own, algorithm.settings, *described, prefix=algorithm.name + ".")
            for alias, key in algorithm.settings.ALIASES.items():
                own.add_argument(
                    flag_of(f"{algorithm.name}.{alias}"), dest=f"{algorithm.name}.{key}", help=argparse.SUPPRESS
                )


def _meaning(key: str) -> str:
    """What a key of a run's file says, as the help of its flag: without capital and full stop."""
    text = run_file.MEANINGS[key]
    return text[0].lower() + text[1:].removesuffix(".")


def _sweep(verb: Parser) -> None:
    verb.add_argument("drill", help="a drill's name, a Python file with a Drill class, or gym:ID")
    verb.add_argument(
        "--set",
        action="append",
        required=True,
        metavar="NAME=VALUES",
        help=(
            "a setting to vary: a range LOW..HIGH or LOW..HIGH:log, or choices separated by commas (by | if values "
            "contain commas); repeat it for each setting"
        ),
    )
    verb.add_argument(
        "--fix", action="append", default=[], metavar="NAME=VALUE", help="a setting that every run has; may be repeated"
    )
    verb.add_argument("--seeds", type=int, default=3, help="seeds for each setting: 0, 1, ... (default 3)")
    verb.add_argument("--trials", type=int, default=20, help="maximum number of settings to try (default 20)")
    verb.add_argument("--seconds", type=float, help="training time of each run in seconds")
    verb.add_argument("--agent-steps", type=whole, help="agent steps of each run, instead of --seconds")
    verb.add_argument("--updates", type=whole, help="updates of each run, instead of --seconds")
    verb.add_argument("--metric", help="metric to compare settings by (default win_share; one side: evaluated_return)")
    verb.add_argument("--algorithm", help="algorithm (default: the one that the drill declares)")
    verb.add_argument("--out", required=True, help="folder for the results; continues an earlier sweep in it")
    verb.add_argument("--quiet", action="store_true", help="show no progress")


def _settings(
    group: Any, kind: type, fields: Mapping[str, Mapping[str, Any]], docs: Mapping[str, str], prefix: str = ""
) -> None:
    """A flag for each setting of `kind`, whose help has its default and range. Flags of an algorithm begin with its
    name, and so do their keys in the parsed options.
    """
    defaults = kind()
    for key, field in fields.items():
        limits = setting.described(key, getattr(defaults, key), field)
        group.add_argument(
            flag_of(prefix + key),
            dest=prefix + key,
            metavar="VALUE",
            help=f"{docs[key]} ({limits})".replace("%", "%%"),
        )


def _evaluate(verb: Parser) -> None:
    verb.add_argument("policy", help=POLICY)
    _matches(verb, 500, "number of matches or episodes")
    verb.add_argument(
        "--search",
        metavar="K,DEPTH",
        help=(
            "decide by search: K copies of the state are played DEPTH decisions ahead, and the action with the most "
            "weight is taken, such as 16,4 (default: the policy alone, as 0,0)"
        ),
    )
    _drill(verb)
    _network(verb)


def _drill(verb: Parser) -> None:
    verb.add_argument(
        "--drill",
        metavar="FILE.py",
        help=(
            "the Python file of your own drill that the .dshq file was trained on, or the name of another drill "
            "of the same shape; or gym:my_module:ID, if the file was trained on an environment of your own"
        ),
    )


def _matches(verb: Parser, count: int, text: str) -> None:
    verb.add_argument(
        "--against",
        help=(
            "opponent in a drill of two sides: scripted, random, idle, a baseline's name, gold, silver, bronze, "
            "another .dshq file, or with evaluate league:best of the file's own league (default scripted)"
        ),
    )
    verb.add_argument("--matches", type=whole, default=count, help=f"{text} (default {count})")
    verb.add_argument("--seed", type=int, default=0, help="seed of the matches (default 0)")
    verb.add_argument("--greedy", action="store_true", help="always take the most likely action instead of sampling")


def _export(verb: Parser) -> None:
    verb.add_argument("policy", help=POLICY)
    verb.add_argument(
        "--html", help="write a web page that plays the policy without a kernel or a network connection, NAME.html"
    )
    verb.add_argument("--onnx", help="write an ONNX model, NAME.onnx")
    verb.add_argument(
        "--to-json", metavar="FILE", help="write layers, weights and names of a small policy as plain JSON, NAME.json"
    )
    _drill(verb)


def _record(verb: Parser) -> None:
    verb.add_argument("policy", help=POLICY)
    verb.add_argument("--gif", required=True, help="write the animation to this file, NAME.gif")
    _matches(verb, 64, "number of matches to play; the best one is shown")
    verb.add_argument(
        "--seconds", type=float, default=10.0, help="longest duration of the animation in seconds (default 10)"
    )
    verb.add_argument("--width", type=int, default=480, help="width in pixels (default 480)")
    verb.add_argument("--theme", choices=("light", "dark"), default="light", help="colour theme (default light)")
    _drill(verb)


def _trace(verb: Parser) -> None:
    verb.add_argument("drill", help="a drill's name, or a Python file with a Drill class")
    verb.add_argument("--ticks", type=whole, default=600, help="number of ticks (default 600)")
    verb.add_argument(
        "--seed", type=int, default=0, help="seed of the first game; the other 15 use the next seeds (default 0)"
    )
    backends = ("cpu", "reference", "js", "wasm", *settings.DEVICES)
    verb.add_argument("--backend", default="cpu", help=f"{', '.join(backends)} or wgsl (default cpu)")


def _check(verb: Parser) -> None:
    verb.add_argument("drill", help="a Python file with a Drill class, or a drill's name")
    verb.add_argument(
        "--debug",
        action="store_true",
        help="play a little at random without compiling: print and breakpoint() in rules work, and mistakes that "
        "compiled rules pass over are listed",
    )


def _bench(verb: Parser) -> None:
    verb.add_argument(
        "drill", nargs="?", default="ball", help="a drill's name, or a Python file with a Drill class (default ball)"
    )
    verb.add_argument("--seconds", type=float, default=2.0, help="seconds to measure each figure (default 2)")
    verb.add_argument("--device", choices=("cpu", *BENCHES), default="cpu", help="device to measure (default cpu)")


def _lab(verb: Parser) -> None:
    verb.add_argument(
        "folder", nargs="?", default="dshq-notebooks", help="folder to copy the notebooks to (default ./dshq-notebooks)"
    )
    verb.add_argument("--port", type=int, help="port to serve on; if it is taken, the next free port")
    verb.add_argument("--no-browser", action="store_true", help="don't open a browser; print the URL")


def _play(verb: Parser) -> None:
    verb.add_argument(
        "start",
        metavar="drill",
        help="a drill's name, a Python file with a Drill class, gym:ID, or a policy to play: a .dshq file or "
        "ball:bronze, ball:silver, ball:gold",
    )
    _drill(verb)
    verb.add_argument("--algorithm", help="algorithm that Train uses (default: the file's, else the drill's)")
    _network(verb)
    verb.add_argument(
        "--engine",
        choices=("local", *algorithms.BROUGHT),
        default="local",
        help="where training runs: on this machine, or in the page",
    )
    verb.add_argument("--port", type=int, default=0, help="the port to serve on (default: any that is free)")
    verb.add_argument("--no-browser", action="store_true", help="don't open a browser; print the URL")


def _info(verb: Parser) -> None:
    verb.add_argument("drill", help="a drill's name, or a Python file with a Drill class")


def _config(verb: Parser) -> None:
    verb.add_argument("--template", required=True, metavar="ALGORITHM", help=", ".join(algorithms.algorithms))
    verb.add_argument("--drill", help="the drill that the file names (default: the first that the algorithm can train)")


ARGUMENTS: dict[str, Callable[[Parser], None]] = {
    "train": _train,
    "sweep": _sweep,
    "evaluate": _evaluate,
    "export": _export,
    "record": _record,
    "trace": _trace,
    "check": _check,
    "bench": _bench,
    "lab": _lab,
    "play": _play,
    "info": _info,
    "config": _config,
}
