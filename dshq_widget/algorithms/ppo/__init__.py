"""Proximal policy optimisation: runs on drills and on Gymnasium environments, and the sources of their samples. Losses
and learners are in learners/.
"""

from __future__ import annotations

from dshq_widget.algorithms.algorithm import Algorithm, imported
from dshq_widget.algorithms.ppo.cluster import RAY
from dshq_widget.algorithms.ppo.metrics import CURVES, METRICS

ALGORITHM = Algorithm(
    "ppo",
    imported("dshq_widget.algorithms.ppo.processes:start_processes"),
    prepare=imported("dshq_widget.algorithms.ppo.processes:prepare_processes"),
    follow=imported("dshq_widget.algorithms.ppo.joint.follow:follow"),
    checks={"training": imported("dshq_widget.algorithms.ppo.doctor:training")},
    benches={
        "cpu": imported("dshq_widget.algorithms.ppo.bench:bench"),
        "cuda": imported("dshq_widget.algorithms.ppo.bench_cuda:bench"),
    },
    metrics=METRICS,
    curves=CURVES,
    with_own=imported("dshq_widget.algorithms.ppo.own:with_own"),
    engines={
        "ray": RAY,
    },
)
