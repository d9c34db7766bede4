"""What more processors would make of the Ball Drill, with threads alone and with rollout processes: computed, not run.

`python -m benchmarks.team [--result NAME]` prints a row for each number of processors: agent steps/s of the learner
alone, of the best team with rollout processes, and which of the two training takes. The rates of one thread and of two
are those that a learner measured in the result of `time_to_skill`. What other numbers of threads make follows by
Amdahl's law, as it does where a machine decides (`tuning.allocations`). docs/howto/tune.md has these rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.running import parser_of
from dshq_widget.algorithms.ppo import tuning
from dshq_widget.algorithms.ppo.tuning import Allocation, Rates
from dshq_widget.contract.settings import of_drill
from dshq_widget.env.batch import compiled
from dshq_widget.learning.fitting import fitted
from dshq_widget.runtime.machine import Machine

RESULTS = Path(__file__).parent / "results"
RESULT = "time_to_skill-2026-11-28.json"
"""Whose rates are those of an idle machine of two processors."""
PROCESSORS = (2, 4, 8, 16)
MEMORY = 64e9
"""Bytes: enough for every team."""


class Row(NamedTuple):
    """Of one number of processors."""

    processors: int
    alone: Allocation
    """Threads that play and learn in turn."""
    team: Allocation
    """The fastest one with rollout processes."""
    chosen: Allocation
    """What training takes."""


def measured(result: Path) -> Rates:
    """What the learner of a result's first row measured."""
    [first, *_] = json.loads(result.read_text(encoding="utf-8"))["rows"]
    return Rates(**first["tuning"]["rates"])


def rows(rates: Rates) -> Iterator[Row]:
    spec = compiled("ball").spec
    for processors in PROCESSORS:
        machine = Machine(processors, MEMORY)
        config = fitted(of_drill(spec), spec, (), machine)
        alone, *teams = tuning.allocations(rates, machine, config.epochs)
        best = max(teams, key=lambda team: team.rate)
        yield Row(processors, alone, best, tuning.choose(config, machine, rates))


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--result", default=RESULT, help="a result of time_to_skill")
    for processors, alone, team, chosen in rows(measured(RESULTS / parser.parse_args().result)):
        who = f"{team.workers} processes and {team.threads} threads"
        taken = f"{chosen.workers} processes, {chosen.threads} threads"
        print(f"{processors:3} processors  alone {alone.rate:12,.0f}  {who} {team.rate:12,.0f}  takes {taken}")


if __name__ == "__main__":
    main()
