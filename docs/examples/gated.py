"""A decision that can be refused (Territory): the gate judges each proposal before it is carried out.

python docs/examples/gated.py --seconds 60 --threshold 0.6 --out bot.dshq
"""

import argparse

from dshq_widget import Trainer

SHOWN = ("send_share_untrained", "send_share_last", "gate_signal_untrained", "gate_signal_last")


def learn(out: str, own: dict | None = None, settings: dict | None = None, **budget: float) -> dict[str, float]:
    """Train by the gate and save. `own`: settings of section `gate`. Returns what it sends, untrained and at last."""
    with Trainer("territory", algorithm_settings={"gate": own or {}}, **settings or {}) as trainer:
        trainer.train_for(**budget)
        trainer.save(out)
        return {name: trainer.metrics[name] for name in SHOWN if name in trainer.metrics}


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seconds", type=float, default=60)
    options.add_argument("--threshold", type=float, default=0.6, help="expected reward above which a proposal is sent")
    options.add_argument("--out", default="bot.dshq")
    given = options.parse_args()
    for name, value in learn(given.out, {"reward_threshold": given.threshold}, seconds=given.seconds).items():
        print(f"{name}: {value:.3f}")
