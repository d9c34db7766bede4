"""What `dshq doctor` says of PPO: how the Ball Drill would be trained on this machine with the default settings."""

from __future__ import annotations

from dshq_widget.algorithms.algorithm import Check
from dshq_widget.algorithms.ppo import tuning
from dshq_widget.contract.settings import of_drill
from dshq_widget.env.batch import compiled
from dshq_widget.learning.fitting import fitted
from dshq_widget.runtime.machine import Machine


def training() -> Check:
    """Threads, rollout processes and games, and why; where there is a choice, when processes help."""
    machine, spec = Machine.this(), compiled("ball").spec
    config = fitted(of_drill(spec), spec, (), machine)
    rates = tuning.recall(spec, config, machine)
    team = tuning.choose(config, machine, rates)
    who = f"{team.threads} learner thread{'s' * (team.threads > 1)}, {team.workers} rollout processes"
    why = tuning.why(config, machine, rates, team)
    advice = tuning.WHEN if tuning.open_choice(config, machine) else ""
    return True, f"{who}, {config.num_envs:,} games at once ({why})", advice
