"""PPO with rollouts on a Ray cluster: what it needs, the nodes that play, the source of their samples, the run; the
design is in docs/explain/ray.md. Only `connection.py` imports ray.
"""

from __future__ import annotations

from dshq_widget.algorithms.algorithm import Engine, imported
from dshq_widget.contract.metrics import Metric

METRICS = {"nodes": Metric("ACTOR", "nodes", "Nodes of the Ray cluster that play.")}

RAY = Engine(
    imported("dshq_widget.algorithms.ppo.cluster.start:start"), "rollouts on a Ray cluster (`--engine ray`)", METRICS
)
