"""What `dshq` takes: the arguments of every verb, with their defaults."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from dshq_widget.contract import settings
from dshq_widget.contract.version import __version__

SECONDS = 60.0
"""How long `dshq train` trains where nothing else is said."""

Verb = Callable[[argparse.Namespace], Any]


class UsageError(ValueError):
    """Wrong input: one sentence that says what to write instead."""


class Parser(argparse.ArgumentParser):
    """Raises UsageError where argparse would end the process."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see `{self.prog} --help`")


def parser(verbs: Iterable[Verb]) -> Parser:
    """The command's parser. A verb is called what its function is called, and explained by the first line of its
    docstring; what is parsed for it has the function as `run`.
    """
    dshq = Parser(prog="dshq", description="Drills that play in a notebook cell and learn while you watch.")
    dshq.add_argument("--version", action="version", version=__version__)
    offered = dshq.add_subparsers(dest="verb", required=True, parser_class=Parser, metavar="VERB")
    for run in verbs:
        summary = (run.__doc__ or "").splitlines()[0]
        verb = offered.add_parser(run.__name__, help=summary, description=summary)
        verb.add_argument("--json", action="store_true", help="print one JSON object as the last line")
        verb.set_defaults(run=run)
        if run.__name__ in ARGUMENTS:
            ARGUMENTS[run.__name__](verb)
    return dshq


def _train(verb: Parser) -> None:
    verb.add_argument(
        "start",
        metavar="drill",
        help="a drill's name, a Python file with a Drill class, or a .dshq file to go on from",
    )
    _drill(verb)
    verb.add_argument(
        "--seconds",
        type=float,
        help=f"training time, start-up and evaluation left out (default {SECONDS:g}, "
        "or less where the drill has a target and reaches it)",
    )
    verb.add_argument("--out", help="where to save the policy, NAME.dshq")
    verb.add_argument(
        "--latest",
        action="store_true",
        help="save the latest policy with all that an exact continuation needs, not the league's champion where that "
        "one is better",
    )
    verb.add_argument("--log-dir", help="a folder for metrics as CSV and TensorBoard files, and for the autosave")
    verb.add_argument("--config", help="a YAML file with a section training_core")
    verb.add_argument("--quiet", action="store_true", help="no progress bar")
    docs = settings.field_docs()
    for key, field in settings.FIELDS.items():
        unit = f" [{field['unit']}]" if field["unit"] else ""
        verb.add_argument(
            "--" + key.replace("_", "-"),
            dest=key,
            metavar="VALUE",
            help=(docs[key].split("\n\n")[0] + unit).replace("%", "%%"),
        )
    for alias, key in settings.ALIASES.items():
        verb.add_argument("--" + alias.replace("_", "-"), dest=key, help=argparse.SUPPRESS)


def _evaluate(verb: Parser) -> None:
    verb.add_argument("policy", help="a .dshq file")
    _matches(verb, 500, "how many matches or episodes")
    _drill(verb)


def _drill(verb: Parser) -> None:
    verb.add_argument(
        "--drill",
        metavar="FILE.py",
        help="the Python file of the drill that a .dshq file was trained on, where that is one of your own; "
        "or the name of another drill of the same shape",
    )


def _matches(verb: Parser, count: int, text: str) -> None:
    verb.add_argument(
        "--against",
        help="scripted, random, idle, a baseline's name or another .dshq file (default scripted); for two sides",
    )
    verb.add_argument("--matches", type=int, default=count, help=f"{text} (default {count})")
    verb.add_argument("--seed", type=int, default=0, help="seed of the matches (default 0)")
    verb.add_argument("--greedy", action="store_true", help="always take the likeliest action instead of sampling")


def _export(verb: Parser) -> None:
    verb.add_argument("policy", help="a .dshq file")
    verb.add_argument(
        "--html", help="where to write a page on which it plays, without a kernel or a network, NAME.html"
    )
    verb.add_argument("--onnx", help="where to write the ONNX model, NAME.onnx")
    _drill(verb)


def _record(verb: Parser) -> None:
    verb.add_argument("policy", help="a .dshq file")
    verb.add_argument("--gif", required=True, help="where to write the film, NAME.gif")
    _matches(verb, 64, "how many matches to choose from")
    verb.add_argument("--seconds", type=float, default=10.0, help="the film's length at most (default 10)")
    verb.add_argument("--width", type=int, default=480, help="its width in pixels (default 480)")
    verb.add_argument("--theme", choices=("light", "dark"), default="light", help="its colours (default light)")
    _drill(verb)


def _trace(verb: Parser) -> None:
    verb.add_argument("drill", help="a drill's name, or a Python file with a Drill class")
    verb.add_argument("--ticks", type=int, default=600, help="how many ticks of the drill's `tick_rate` (default 600)")
    verb.add_argument("--seed", type=int, default=0, help="seed of the first of the 16 games (default 0)")
    verb.add_argument("--backend", default="cpu", help="cpu, js or cuda (default cpu)")


def _check(verb: Parser) -> None:
    verb.add_argument("drill", help="a Python file with a Drill class, or a drill's name")


def _bench(verb: Parser) -> None:
    verb.add_argument(
        "drill", nargs="?", default="ball", help="a drill's name, or a Python file with a Drill class (default ball)"
    )
    verb.add_argument("--seconds", type=float, default=2.0, help="how long each figure is measured (default 2)")
    verb.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="what is measured (default cpu)")


def _lab(verb: Parser) -> None:
    verb.add_argument(
        "folder", nargs="?", default="dshq-notebooks", help="where to put them (default ./dshq-notebooks)"
    )
    verb.add_argument("--port", type=int, help="the port to serve on; the next free one where it is taken")
    verb.add_argument("--no-browser", action="store_true", help="open no browser, only say the address")


def _play(verb: Parser) -> None:
    verb.add_argument(
        "start",
        metavar="drill",
        help="a drill's name, a Python file with a Drill class, gym:ID, or a .dshq file whose policy plays",
    )
    _drill(verb)
    verb.add_argument("--port", type=int, default=0, help="the port to serve on (default: any that is free)")
    verb.add_argument("--no-browser", action="store_true", help="open no browser, only say the address")


def _submit(verb: Parser) -> None:
    verb.add_argument("policy", help="a .dshq file; only its policy is sent")
    verb.add_argument("--to", required=True, help="the league's address")
    verb.add_argument("--token", required=True, help="your token there")


def _league(verb: Parser) -> None:
    verb.add_argument("deed", choices=("serve", "verify"), help="serve the pages and play rounds; check a replay")
    verb.add_argument("replay", nargs="*", help="verify: REPLAY.json, and if you like both policies, first and second")
    verb.add_argument("--db", default="sqlite:///league.db", help="the database (default sqlite:///league.db)")
    verb.add_argument("--port", type=int, default=8899, help="the port to serve on (default 8899)")
    verb.add_argument("--host", default="127.0.0.1", help="the address to serve on (default 127.0.0.1)")
    verb.add_argument(
        "--instructors", default="instructors", help="a JupyterHub's group of instructors (default instructors)"
    )


ARGUMENTS: dict[str, Callable[[Parser], None]] = {
    "train": _train,
    "evaluate": _evaluate,
    "export": _export,
    "record": _record,
    "trace": _trace,
    "check": _check,
    "bench": _bench,
    "lab": _lab,
    "play": _play,
    "submit": _submit,
    "league": _league,
}
