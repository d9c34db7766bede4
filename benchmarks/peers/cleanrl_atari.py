"""CleanRL's PPO on an Atari game: `cleanrl/ppo_atari.py` of a checkout, unchanged but for 16 games and 8 minibatches of
256, which is what ours has. It prints "SPS" after each update, which is what is read here.

It is written for gymnasium 0.29 and needs ale-py, opencv-python-headless and tyro.
"""

from __future__ import annotations

import contextlib
import sys
import time
from pathlib import Path
from typing import Any

import ale_py  # noqa: F401  # registers the games with gymnasium 0.29
import torch
import torch.utils.tensorboard
import tyro  # noqa: F401  # what the file imports is loaded before the clock starts

from benchmarks.peers.cleanrl import Lines
from benchmarks.peers.progress import Progress, say
from benchmarks.peers.settings import FOREVER, arguments

GAMES, MINIBATCHES = 16, 8


def main() -> None:
    options = arguments(__doc__)
    if options.checkout is None:
        raise SystemExit("CleanRL is in no package index as it is today: name a clone of it with --checkout")
    torch.set_num_threads(options.threads)
    path = Path(options.checkout) / "cleanrl" / "ppo_atari.py"
    sys.path.insert(0, options.checkout)
    given: dict[str, Any] = {"seed": options.seed, "env-id": "BreakoutNoFrameskip-v4", "num-envs": GAMES}
    given |= {"num-minibatches": MINIBATCHES, "total-timesteps": FOREVER}
    sys.argv = [str(path), "--no-cuda", *(word for key, value in given.items() for word in (f"--{key}", str(value)))]
    names: dict[str, Any] = {"__name__": "__main__", "__file__": str(path)}
    code = compile(path.read_text(), str(path), "exec")
    before = time.process_time()
    with Progress(options.seconds, solving=False) as progress, contextlib.redirect_stdout(Lines(progress, names)):
        exec(code, names)
    spent = time.process_time() - before
    say(progress.result(games=GAMES, processor_seconds=spent, hyper=vars(names["args"])))


if __name__ == "__main__":
    main()
