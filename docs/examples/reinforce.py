"""REINFORCE with a baseline, an algorithm of your own in one file: docs/howto/own-algorithm.md goes through it."""

import dataclasses

import numpy as np
import torch

from dshq_widget import extend


@dataclasses.dataclass(frozen=True)
class Settings(extend.Section):
    """Section `reinforce` of a run."""

    baseline: float = extend.setting(0.5, "float", "Baseline", extend.NEXT_UPDATE, "reinforce", lo=0.0, hi=10.0)
    """Weight of the baseline's error beside the policy's loss."""


class Reinforce:
    """R. S. Sutton and A. G. Barto, "Reinforcement Learning", 2nd edition, 2018, section 13.4."""

    skipped = 0

    def __init__(self, spec, config, own):
        self.spec, self.config, self.own = spec, config, extend.read(Settings, "reinforce", own)
        self.weights = torch.zeros(spec.floats, requires_grad=True)
        self.load(spec.untrained(config.seed))
        self.player = self

    def update(self, experience, progress):
        samples, units = experience.samples, experience.units
        obs = torch.from_numpy(samples.obs[units]).transpose(1, 2).reshape(-1, self.spec.layers[0])
        actions, returns = (torch.from_numpy(a[units]).reshape(-1) for a in (samples.action, samples.returns))
        outputs = self.outputs(obs)
        chosen = torch.log_softmax(outputs[:, :-1], -1).gather(1, actions[:, None].long())[:, 0]
        error = returns - outputs[:, -1]
        loss = -(error.detach() * chosen).mean()
        self.adam.param_groups[0]["lr"] = self.schedule(progress)["learning_rate"]
        self.adam.zero_grad()
        (loss + self.own.baseline * error.square().mean()).backward()
        self.adam.step()
        return {"loss_policy": loss.item(), "baseline_error": error.abs().mean().item()}

    def outputs(self, x):
        at, shapes = 0, list(zip(self.spec.layers, self.spec.layers[1:], strict=False))
        for k, (n, m) in enumerate(shapes):
            x = x @ self.weights[at : at + n * m].view(n, m) + self.weights[at + n * m : at + (n + 1) * m]
            x, at = torch.tanh(x) if k < len(shapes) - 1 else x, at + (n + 1) * m
        return x

    def schedule(self, progress):
        return {"learning_rate": progress.config.learning_rate * progress.rate}

    def blob(self):
        return self.weights.detach().numpy().copy()

    def load(self, blob):
        self.weights.data = torch.from_numpy(np.array(blob, np.float32))
        self.adam = torch.optim.Adam([self.weights])

    def state(self):
        kept = self.adam.state[self.weights]
        return {f"train.reinforce.{name}": value.numpy().copy() for name, value in kept.items()}

    def restore(self, state):
        kept = {name: state[f"train.reinforce.{name}"] for name in ("step", "exp_avg", "exp_avg_sq")}
        self.adam.state[self.weights] = {name: torch.from_numpy(value.copy()) for name, value in kept.items()}

    def change(self, changes):
        self.own = dataclasses.replace(self.own, **changes)


def suits(spec):
    if spec.front:
        raise ValueError(f"reinforce learns dense layers only, and {spec.name!r} has others: choose another drill")


@extend.role
def run(channel, job, blocks):
    extend.train(channel, job, blocks, Reinforce, lambda one: (extend.OwnSettings("reinforce", one.change),))


ALGORITHM = extend.Algorithm(
    "reinforce",
    extend.one_process(f"{__name__}:run"),
    settings=Settings,
    defaults={"gae_lambda": 1.0, "rollout_length": 64, "activation": "tanh"},
    suits=suits,
    refuses={"recurrent": "reinforce learns dense layers only: set memory to 0"},
    reads=("num_envs", "rollout_length", "learning_rate", "gamma", "gae_lambda", "hidden_sizes", "reward_weights"),
    metrics={"baseline_error": extend.Metric("TRAINER", "reward", "Mean absolute error of the baseline.", False)},
    curves=(extend.Curve("Baseline", "Mean error of the baseline. Should fall.", {"baseline_error": "error"}),),
    panel=extend.Panel(
        "Baseline",
        "How far the returns are from what the baseline predicts.",
        {"baseline_error": "Mean error", "loss_policy": "Loss of the policy"},
    ),
)
