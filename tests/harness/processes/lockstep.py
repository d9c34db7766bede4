"""Notes the hash of every version; `lockstep.py POLICY.dshq LAST` prints {version: hash} as JSON."""

import hashlib
import json
import sys
import time

from dshq_widget.training.trainer import Trainer

PATIENCE = 300.0  # seconds


def hashes(trainer: Trainer, last: int, first: int = 0) -> dict[int, str]:
    """Version -> hash of its weights, of those after `first` until `last`, made one at a time."""
    seen: dict[int, str] = {}
    enough = time.monotonic() + PATIENCE
    while not seen or max(seen) < last:
        before = trainer.version
        trainer.next_update()
        while trainer.version == before:
            assert trainer.error == "" and time.monotonic() < enough, trainer.status_text
            time.sleep(0.002)
        policy = trainer.latest_policy()
        if policy.version > first:
            seen[policy.version] = hashlib.sha256(policy.weights.tobytes()).hexdigest()
    return seen


def main(path: str, last: int) -> None:
    with Trainer(path) as trainer:
        print(json.dumps(hashes(trainer, last, trainer.version)))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
