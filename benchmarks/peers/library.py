"""The libraries that are compared, and who of them can be run here."""

from __future__ import annotations

import argparse
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.peers.running import run

TRIAL = 4.0
"""Seconds of training with each number of threads."""


@dataclass(frozen=True)
class Library:
    """A library that a script of this folder runs."""

    script: str
    title: str
    packages: tuple[str, ...]
    settings: tuple[str, ...] = ()
    """In which it trains; none: it has games alone."""
    threads: tuple[int, ...] = (1,)
    """Those that it can be told."""
    checkout: bool = False
    game: str = "cartpole"


OURS = Library("ours", "ours", ("dshq-widget", "numba", "numpy"), ("own",))
LIBRARIES = (
    Library(
        "stable_baselines3",
        "Stable-Baselines3",
        ("stable-baselines3", "gymnasium", "torch", "numpy"),
        ("own", "equal", "tuned"),
        (1, 2),
    ),
    Library("cleanrl", "CleanRL", ("gymnasium", "torch", "numpy"), ("own", "equal"), (1, 2), True),
    Library("purejaxrl", "PureJaxRL", ("jax", "flax", "gymnax", "numpy"), ("own", "equal"), (1,), True),
    Library("pufferlib", "PufferLib", ("heavyball", "torch", "numpy"), ("own", "equal"), (1, 2), True),
    Library("envpool", "EnvPool", ("envpool", "numpy")),
    Library("vmas", "VMAS", ("vmas", "torch"), game="football"),
)


class Peer:
    """A library with the interpreter and the checkout that run it."""

    def __init__(self, library: Library, python: str, checkout: str | None) -> None:
        self.library, self.python, self.checkout = library, python, checkout
        self._threads: dict[str, tuple[int, dict[str, float]]] = {}

    def run(self, what: str, *arguments: object, one_core: bool = False) -> dict[str, Any]:
        """What its script says. Raises ScriptError."""
        words = ["-m", f"benchmarks.peers.{self.library.script}", what, *map(str, arguments)]
        words += ["--checkout", str(Path(self.checkout).resolve())] if self.checkout else []
        return run(self.python, *words, one_core=one_core)

    def train(self, what: str, settings: str, seed: int, seconds: float) -> dict[str, Any]:
        """One training with the number of threads that suits it."""
        threads, trials = self.threads(settings)
        given = ("--settings", settings, "--seed", seed, "--seconds", seconds, "--threads", threads)
        return {"threads": threads, "thread_trials": trials, **self.run(what, *given)}

    def threads(self, settings: str) -> tuple[int, dict[str, float]]:
        """The number with the highest rate, and the rates that say so; none where there is no choice."""
        choice = self.library.threads
        if len(choice) == 1:
            return choice[0], {}
        if settings not in self._threads:
            rates = {}
            for threads in choice:
                given = ("--settings", settings, "--seconds", TRIAL, "--threads", threads)
                rates[str(threads)] = rate_of(self.run("rate", *given))
            self._threads[settings] = int(max(rates, key=lambda key: rates[key])), rates
        return self._threads[settings]

    def versions(self) -> dict[str, str | None]:
        """Of the packages that matter, and of the checkout."""
        ask = (
            "import json, importlib.metadata as m\n"
            "def version(name):\n"
            "    try: return m.version(name)\n"
            "    except m.PackageNotFoundError: return None\n"
            f"print(json.dumps({{name: version(name) for name in {self.library.packages!r}}}))"
        )
        found = {key: value for key, value in run(self.python, "-c", ask).items() if key in self.library.packages}
        return found | ({"checkout": revision(self.checkout)} if self.checkout else {})


def rate_of(found: dict[str, Any]) -> float:
    return float(found["agent_steps"] / found["seconds"])


def revision(checkout: str) -> str | None:
    """The commit of a clone, or the version that an unpacked source package states."""
    stated = Path(checkout) / "PKG-INFO"
    if stated.exists():
        return next(line for line in stated.read_text().splitlines() if line.startswith("Version"))
    ask = ["git", "-C", checkout, "rev-parse", "HEAD"]
    return subprocess.run(ask, capture_output=True, text=True, check=False).stdout.strip() or None


def find(options: argparse.Namespace) -> tuple[list[Peer], dict[str, str]]:
    """Who can be run, and why the others cannot. Ends the program where `--python-of` is not NAME=PATH."""
    if wrong := [pair for pair in options.python_of if "=" not in pair]:
        raise SystemExit(f"--python-of wants NAME=PATH, such as cleanrl=/venv/bin/python; got {wrong[0]!r}")
    own = dict(pair.split("=", 1) for pair in options.python_of)
    peers, left_out = [], {}
    for library in LIBRARIES:
        python = own.get(library.script, options.python)
        checkout = getattr(options, library.script, None) if library.checkout else None
        if options.only and library.script not in options.only:
            left_out[library.title] = "It was not asked for (--only)."
        elif python is None:
            left_out[library.title] = f"No interpreter was given: use --python or --python-of {library.script}=PATH."
        elif library.checkout and checkout is None:
            left_out[library.title] = f"No checkout was given: use --{library.script} CHECKOUT."
        else:
            peers.append(Peer(library, python, checkout))
    return peers, left_out
