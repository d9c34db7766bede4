"""Parts of the package that the lessons take apart: games, players and ratings.

What is here keeps its name and meaning, as what is in `dshq_widget` does; the modules behind it may change.
"""

from dshq_widget.contract.settings import of_drill
from dshq_widget.env.batch import Batch, compiled
from dshq_widget.env.check import suite
from dshq_widget.env.snapshots import Snapshots
from dshq_widget.learning import elo
from dshq_widget.policy.evaluate import evaluate as evaluate_pair
from dshq_widget.policy.evaluate import evaluate_alone, network, opponent, wilson
from dshq_widget.policy.network import PolicySpec

__all__ = [
    "Batch",
    "PolicySpec",
    "Snapshots",
    "compiled",
    "elo",
    "evaluate_alone",
    "evaluate_pair",
    "network",
    "of_drill",
    "opponent",
    "suite",
    "wilson",
]
