"""Files as this version writes them, into tests/formats/VERSION: later versions' tests open them.

python -m tools.released

Run it once, when the version in dshq_widget/contract/version.py is that of the release; what is there already stays.
"""

from __future__ import annotations

import gzip
import json
import re
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from dshq_widget.classroom import rounds
from dshq_widget.classroom.store import Anchor, Outcome, Store
from dshq_widget.contract.protocol import REPLAY_FORMAT
from dshq_widget.contract.version import __version__
from dshq_widget.env.replay import replay, state_hash
from dshq_widget.policy.evaluate import opponent
from tools import released_page

ROOT = Path(__file__).resolve().parents[1]
FORMATS = ROOT / "tests" / "formats"
RULES = ("ball_physics.py", "ball_scene.py", "ball.py")
"""The Ball Drill's rules, in the order in which they need one another."""
SEED = 5


def policy(folder: Path) -> None:
    """`bot.dshq` and `bot.yaml`: a learner of few weights after five updates, with its optimiser."""
    settings = "--num-envs 16 --rollout-length 32 --hidden-sizes 4 --snapshot-every 100"
    command = [sys.executable, "-m", "dshq_widget.cli", "train", "bandit", "--updates", "5", "--out", "bot.dshq"]
    with tempfile.TemporaryDirectory() as work:
        subprocess.run([*command, *settings.split()], cwd=work, check=True)
        for name in ("bot.dshq", "bot.yaml"):
            (folder / name).write_bytes(Path(work, name).read_bytes())


def rules(folder: Path) -> None:
    """`ball.py.txt`: the Ball Drill in one file that needs nothing of its neighbours."""
    said = '"""The Ball Drill\'s rules of this release, in one file: those by which its recordings were played."""\n'
    parts = [(ROOT / "dshq_widget" / "drills" / name).read_text() for name in RULES]
    neighbours = re.compile(r"^from dshq_widget\.drills\.ball_\w+ import (?:\([^)]*\)|.*)\n", re.MULTILINE)
    twice = re.compile(r"^from __future__ import annotations\n", re.MULTILINE)
    body = "\n\n".join(twice.sub("", neighbours.sub("", part)) for part in parts)
    (folder / "ball.py.txt").write_text(f"{said}\nfrom __future__ import annotations\n\n{body}")


def recordings(folder: Path) -> None:
    """`match.json`, of the league, and `replay.json`, whose inputs are those of the first release's."""
    drill = rounds.drill_of("ball")
    pair = [opponent(name, drill) for name in ("random", "chaser")]
    *_, packed = rounds.played(drill, pair, SEED, ("random", "chaser"))
    (folder / "match.json").write_bytes(gzip.decompress(packed))
    first = json.loads((FORMATS / "0.1.0" / "replay.json").read_text())
    todays: dict[str, Any] = first | {"format": REPLAY_FORMAT, "rules_hash": drill.rules_hash}
    todays["sha256"] = state_hash(replay(drill, todays))
    (folder / "replay.json").write_text(json.dumps(todays))


def league(folder: Path) -> None:
    """`league.sql`: a finished round and an open one, and `tokens.json`, whose tokens are in it."""
    with tempfile.TemporaryDirectory() as work:
        path = Path(work, "league.db")
        store = Store(f"sqlite:///{path}")
        tokens = {store.issue_token("prof", instructor=True): ["prof", True]}
        tokens |= {token: [name, False] for name, token in store.issue_tokens(["ada", "ben"]).items()}
        for number, title in enumerate(("Week 1", "Week 2"), 1):
            store.open_round(title, "ball", "0123456789abcdef", ["random"], 1, publish=number == 1)
            for name, digests in (("ada", ("a1", "a2") if number == 1 else ("a3", "a4")), ("ben", (f"b{number}",))):
                for digest in digests:
                    store.submit(number, name, number, 1000 * number, digest, f"content {digest}".encode())
            if number == 1:
                store.close_round(1, [Anchor("random", "random")])
                while job := store.next_job():
                    store.record(job, Outcome(16, 8, 8, gzip.compress(b"{}", mtime=0)))
        store.close_connections()
        with sqlite3.connect(path) as db:
            (folder / "league.sql").write_text("\n".join(db.iterdump()) + "\n")
        db.close()
    (folder / "tokens.json").write_text(json.dumps(tokens, indent=1) + "\n")


def main() -> None:
    folder = FORMATS / __version__
    if folder.exists():
        raise SystemExit(f"{folder.relative_to(ROOT)} is there already: files of a release stay as they are")
    folder.mkdir()
    writers = (
        policy,
        rules,
        recordings,
        league,
        released_page.kept,
    )
    for write in writers:
        write(folder)
    print(f"wrote {folder.relative_to(ROOT)}: {', '.join(sorted(path.name for path in folder.iterdir()))}")


if __name__ == "__main__":
    main()
