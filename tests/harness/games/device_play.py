"""Games played on a device by a network of their own."""

import dataclasses

import numpy as np
import torch

from dshq_widget.algorithms.ppo.learners import losses
from dshq_widget.algorithms.ppo.learners.normalizer import Normalizer
from dshq_widget.algorithms.ppo.learners.resident import ResidentPPO
from dshq_widget.env import batch
from dshq_widget.gpu.games import make_games
from dshq_widget.gpu.play import Play
from dshq_widget.policy.network import PolicySpec

GAMMA, LAMBDA, LENGTH = 0.97, 0.9, 24


def start(drill, shares, games=96, device="cpu", length=LENGTH, hidden=(16,), normal=False, graph=False):
    """Games and their learner, whose policy is far from uniform; `normal`: which normalises what it learns from."""
    compiled = batch.compiled(drill)
    spec = PolicySpec.for_drill(compiled.spec, hidden)
    normalizer = Normalizer(spec, normal, normal)
    learner = ResidentPPO(spec, seed=1, device=device, normalizer=normalizer, graph=graph and device != "cpu")
    noise = np.random.default_rng(2).standard_normal(learner.spec.floats) * 0.2
    learner.load(learner.blob() + noise.astype(np.float32))
    how = {"length": length, "shares": shares, "seed": 3, "graph": graph}
    play = Play(make_games(compiled, games, torch.device(device)), learner, losses.gae, **how)
    play.settings(GAMMA, LAMBDA)
    return compiled, learner, play


def host(rollout):
    return {f.name: getattr(rollout, f.name).cpu().numpy().copy() for f in dataclasses.fields(rollout)}
