"""What the processes of rank 1, 2, ... do: play and learn as rank 0 orders, and nothing else."""

from __future__ import annotations

import hashlib

import numpy as np

from dshq_widget.algorithms.ppo.joint.orders import Orders
from dshq_widget.algorithms.ppo.learners.joint import JointPPO, leave
from dshq_widget.algorithms.ppo.learners.learner import Hyper
from dshq_widget.algorithms.ppo.learners.normalizer import Normalizer
from dshq_widget.algorithms.ppo.resident_games import ResidentGames
from dshq_widget.algorithms.torchrun import Place
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.gpu.device import choose_device
from dshq_widget.learning import seeds
from dshq_widget.learning.parts import Experience
from dshq_widget.policy.network import PolicySpec


def follow(place: Place) -> JointPPO:
    """Obey until rank 0 ends; returns the learner. Raises LearnerLost if another process ends."""
    orders = Orders(place)
    begin = orders.next()
    drill, config = CompiledDrill.from_json(begin["drill"]), TrainConfig.from_values(begin["hyper"])
    learner, games = parts(place, drill, config, begin["version"])
    played: Experience | None = None
    while (order := orders.next())["kind"] != "END":
        kind = order["kind"]
        if kind == "PLAY":
            played = games.next(learner, TrainConfig.from_values(order["hyper"]), 0)
            orders.gather(played.stats)
        elif kind == "LEARN":
            assert played is not None
            learner.update(played.samples, played.units, Hyper(**order["hyper"]))
        elif kind == "LOAD":
            learner.load(order["blob"])
        elif kind == "RESTORE":
            learner.restore(order["state"])
        elif kind == "OPPONENTS":
            games.set_opponents(order["policies"])
        elif kind == "SCENES":
            games.practise(order["scenes"])
        elif kind == "MEND":
            games.mend(None)
    orders.gather(digest(learner.blob()))
    leave()
    return learner


def parts(place: Place, drill: CompiledDrill, config: TrainConfig, version: int) -> tuple[JointPPO, ResidentGames]:
    """Learner and games of one process, its games from a seed of their own, and where no file has them (run.py), of
    the `version` that the run continues from. All processes wait for one another.
    """
    found = choose_device(config.device)
    drill.game()
    spec = PolicySpec.for_config(drill.spec, config)
    normalizer = Normalizer(spec, config.normalize_observations, config.normalize_rewards)
    device = "cpu" if found == "cpu" else f"{found}:{place.local}"
    learner = JointPPO(spec, seed=config.seed, device=device, normalizer=normalizer)
    seed = seeds.apart(config.seed, place.rank, version) if place.rank else config.seed
    return learner, ResidentGames(drill, config.replace({"seed": seed}), learner)


def digest(blob: np.ndarray) -> str:
    """A hash of flat weights, to compare processes by."""
    return hashlib.sha256(blob.tobytes()).hexdigest()
