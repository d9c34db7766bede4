"""CleanRL's PPO on CartPole-v1: `cleanrl/ppo.py` of a checkout, unchanged. `own`: its defaults. The file prints what is
read here: each episode's return, and "SPS" after each update. Policy and value are apart, 64 and 64 tanh units.

It is written for gymnasium 0.29 (its `pyproject.toml`); with a newer one no episode is reported, and this script says
so.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
from pathlib import Path
from typing import Any

import gymnasium
import torch
import torch.utils.tensorboard
import tyro  # noqa: F401  # what the file imports is loaded before the clock starts

from benchmarks.peers.progress import Progress, say
from benchmarks.peers.settings import EQUAL, FOREVER, OWN, SAME, arguments

EPISODE = re.compile(r"global_step=(\d+), episodic_return=\[?([-+.e\d]+)")


def flags(settings: str, seed: int, forever: bool) -> list[str]:
    """The command line of `ppo.py`."""
    found = ["--no-cuda", "--seed", str(seed)]
    if settings == SAME:
        values = {
            "num-envs": EQUAL["games"],
            "num-steps": EQUAL["steps"],
            "update-epochs": EQUAL["epochs"],
            "num-minibatches": EQUAL["games"] * EQUAL["steps"] // EQUAL["minibatch"],
            "learning-rate": EQUAL["learning_rate"],
            "gamma": EQUAL["gamma"],
            "gae-lambda": EQUAL["gae_lambda"],
            "ent-coef": EQUAL["entropy"],
            "total-timesteps": EQUAL["agent_steps"],
        }
        found += ["--no-clip-vloss", *(word for key, value in values.items() for word in (f"--{key}", str(value)))]
    elif settings != OWN:
        raise SystemExit(f"CleanRL says nothing of CartPole beside its defaults: use own or equal, not {settings}")
    return [*found, "--total-timesteps", str(FOREVER)] if forever else found


class Lines(io.TextIOBase):
    """Stands where the file prints."""

    def __init__(self, progress: Progress, names: dict[str, Any]) -> None:
        self.progress, self.names, self.line = progress, names, ""

    def write(self, text: str) -> int:
        self.line += text
        if self.line.endswith("\n"):
            line, self.line = self.line, ""
            self.hear(line)
        return len(text)

    def hear(self, line: str) -> None:
        if found := EPISODE.match(line):
            self.progress.episodes([float(found.group(2))])
        elif line.startswith("SPS:"):
            if not self.progress.agent_steps:
                self.progress.began_at(self.names["start_time"])
            self.progress.update(self.names["global_step"], self.policy)

    def policy(self) -> list[Any]:
        layers = [layer for layer in self.names["agent"].actor if hasattr(layer, "weight")]
        return [(layer.weight.detach().numpy(), layer.bias.detach().numpy()) for layer in layers]


def main() -> None:
    options = arguments(__doc__)
    if options.checkout is None:
        raise SystemExit("CleanRL is in no package index as it is today: name a clone of it with --checkout")
    torch.set_num_threads(options.threads)
    path = Path(options.checkout) / "cleanrl" / "ppo.py"
    code = compile(path.read_text(), str(path), "exec")
    given = flags(options.settings, options.seed, options.what == "rate")
    sys.argv = [str(path), *given]
    names: dict[str, Any] = {"__name__": "__main__", "__file__": str(path)}
    with (
        Progress(options.seconds, options.what == "solve") as progress,
        contextlib.redirect_stdout(Lines(progress, names)),
    ):
        exec(code, names)
    if options.what == "solve" and not progress.returns:
        raise SystemExit(f"no episode was reported with gymnasium {gymnasium.__version__}: CleanRL wants 0.29.1")
    say(progress.result(games=names["args"].num_envs, network="64x64 tanh, apart", hyper=vars(names["args"])))


if __name__ == "__main__":
    main()
