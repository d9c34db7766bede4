"""kill -9 at random moments of whatever runs; each yields what was killed and the seconds until it was gone."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from dshq_widget.policy import checkpoint
from tests.harness.processes.faults import Kernel, Started, until

Killed = tuple[str, float]


def whole(folder: Path) -> int:
    """The newest version in the policy files below `folder`, which are all whole; 0 where there is none."""
    newest = 0
    for path in folder.rglob("*.dshq"):
        if not path.name.startswith("."):
            newest = max(newest, checkpoint.load(path).version)
            left = list(path.parent.glob(f".{path.name}.*.tmp"))
            assert sum(one.exists() for one in left) <= 1, left  # a save that began meanwhile has removed the old one
    return newest


def blocks() -> set[str]:
    """Names in /dev/shm that a run of ours could have left; semaphores are those of the tests beside it, too."""
    names = os.listdir("/dev/shm") if os.path.isdir("/dev/shm") else []
    return {name for name in names if not name.startswith(("PostgreSQL.", "sem.", ".org.chromium"))}


def timed(kill: Callable[[], None], over: Callable[[], object], what: str) -> float:
    began = time.monotonic()
    kill()
    until(over, what)
    return time.monotonic() - began


def training(dice: random.Random, folder: Path, kills: int) -> Iterator[Killed]:
    """A kernel whose run is saved all the time: its learner, its rollout process, at last the kernel itself."""
    while kills > 0:
        keep = folder / f"kept-{kills}"
        with Kernel("--workers", "1", "--keep", str(keep)) as kernel:

            def asked(what: str, kernel: Kernel = kernel) -> str:
                kernel.ask(what)
                return kernel.line()

            began = json.loads(kernel.line())
            assert len(began["workers"]) == 1
            for victim in ("learner", "rollout", "learner")[: kills - 1]:
                time.sleep(dice.uniform(0.0, 0.5))

                def alive(victim: str = victim) -> int | None:
                    now = json.loads(asked("pids"))
                    return now["learner"] if victim == "learner" else next(iter(now["workers"]), None)

                until(alive, f"a {victim} to kill")  # the one before was killed a moment ago
                pid, version = alive(), int(asked("version"))

                def replaced(pid: int = pid, version: int = version) -> bool:
                    now = json.loads(asked("pids"))
                    newest = int(asked("version"))
                    assert newest >= version, "versions never fall"
                    return pid not in (now["learner"], *now["workers"]) and newest > version

                yield victim, timed(lambda pid=pid: os.kill(pid, signal.SIGKILL), replaced, f"another {victim}")
                kills -= 1
            saved = whole(keep)
            time.sleep(dice.uniform(0.0, 0.5))
            yield (
                "kernel",
                timed(
                    lambda kernel=kernel: os.kill(kernel.process.pid, signal.SIGKILL),
                    lambda kernel=kernel: not kernel.family.members(),
                    "the end of the kernel's family",
                ),
            )
            kills -= 1
            assert whole(keep) >= saved


def command(dice: random.Random, folder: Path, kills: int) -> Iterator[Killed]:
    """`dshq train`, which continues each time with the file that it writes all the time."""
    out = folder / "bot.dshq"
    sizes = ["--num-envs", "64", "--rollout-length", "8", "--minibatch-size", "256", "--hidden-sizes", "16"]
    flags = [*sizes, "--workers", "0", "--autosave-seconds", "0.05", "--seconds", "600", "--out", str(out)]
    for _ in range(kills):
        before = whole(folder)
        with started("train", str(out) if before else "cartpole", *flags) as run:
            until(lambda before=before: whole(folder) > before, "a save")
            saved = whole(folder)
            time.sleep(dice.uniform(0.0, 0.5))
            yield "command line", run.killed()
            assert whole(folder) >= saved


def play(dice: random.Random, folder: Path, kills: int) -> Iterator[Killed]:
    """`dshq play`, from its first moment on."""
    for _ in range(kills):
        with started("play", "cartpole", "--no-browser") as run:
            assert run.process.stdout is not None and run.process.stdout.readline().startswith("http://127.0.0.1:")
            time.sleep(dice.uniform(0.0, 0.5))
            yield "play server", run.killed()


def league(dice: random.Random, folder: Path, kills: int) -> Iterator[Killed]:
    """`dshq league serve` while it plays a round: no result is lost, and none counts twice."""
    from dshq_widget.classroom import rounds
    from dshq_widget.classroom.store import Store
    from tests.harness.class_league import open_round, policy, policy_bytes

    url = f"sqlite:///{folder}/league.db"
    store = Store(url)
    number = open_round(store, blocks=32)
    for k in range(4):
        store.submit(number, f"s{k}", 1, 0, rounds.digest(policy(k)), policy_bytes(k))
    total = store.close_round(number, rounds.anchors_of("ball", []))
    for _ in range(kills):
        known = {row.id: (row.wins, row.draws, row.losses) for row in store.results(number)}
        with started("league", "serve", "--db", url, "--port", "0") as run:
            assert run.process.stdout is not None and "The league is at" in run.process.stdout.readline()
            until(lambda known=known: len(known) < store.progress(number)[0] or len(known) == total, "a block")
            time.sleep(dice.uniform(0.0, 0.3))
            yield "league", run.killed()
        now = {row.id: (row.wins, row.draws, row.losses) for row in store.results(number)}
        assert known.items() <= now.items() and store.progress(number) == (len(now), total)
        assert all(sum(result) == rounds.GAMES for result in now.values())
    store.close_connections()


class started(Started):
    """`dshq ...` as such a process."""

    def __init__(self, *arguments: str) -> None:
        self.arguments = arguments
        super().__init__("-m", "dshq_widget.cli", *arguments, stderr=subprocess.DEVNULL)

    def killed(self) -> float:
        """Kill the command alone: the seconds until all that it started has gone."""
        return timed(
            lambda: os.kill(self.process.pid, signal.SIGKILL),
            lambda: not self.family.members(),
            f"the end of the family of {self.arguments[0]}",
        )


VICTIMS: dict[str, Callable[[random.Random, Path, int], Iterator[Killed]]] = {
    "training": training,
    "command": command,
    "play": play,
    "league": league,
}
