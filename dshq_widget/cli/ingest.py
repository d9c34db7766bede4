"""`dshq ingest`: how fast frames reach replay memory."""

from __future__ import annotations

import argparse
from typing import Any

from dshq_widget import algorithms
from dshq_widget.cli import drill_argument, outputs
from dshq_widget.cli.arguments import Parser, UsageError, takes
from dshq_widget.contract.settings import DEVICES


def _arguments(verb: Parser) -> None:
    verb.add_argument("drill", help="a drill's name, or a Python file with a Drill class")
    verb.add_argument("--seconds", type=float, default=5.0, help="seconds to measure (default 5)")
    verb.add_argument(
        "--device",
        choices=("auto", "cpu", *DEVICES),
        default="auto",
        help="where games are drawn (default: a GPU, if any)",
    )
    verb.add_argument(
        "--guard",
        action="store_true",
        help="verify that frames are drawn where they stay; on a GPU also count copies between it and the host",
    )


@takes(_arguments)
def ingest(options: argparse.Namespace) -> dict[str, Any]:
    """Measure how fast a drill's games draw frames into replay memory."""
    from dshq_widget.env.batch import compiled

    outputs.positive("--seconds", options.seconds)
    game = compiled(drill_argument.drill(options.drill))
    measure = next((each.ingests for each in algorithms.algorithms.values() if each.ingests), None)
    if measure is None:
        raise UsageError("no algorithm that is known here learns from frames, so there is nothing to measure")
    result = measure(game, options.seconds, options.guard, options.device)
    if not options.json:
        for name in ("frames_per_second", "bytes_per_second", "memcpy_bytes_per_second"):
            print(f"{name:24} {result[name]:>18,.0f}")
        if result["guard"]:
            copies = "not counted" if result["host_copies"] is None else result["host_copies"]
            print(f"copies between host and device: {copies} ({result['guard']})")
    return result
