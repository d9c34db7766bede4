import numpy as np
import torch

from dshq_widget.algorithms.ppo.learners import losses
from dshq_widget.lessons.checks.ppo import ENTROPY, VALUE, reference
from tests.lessons.attempts import exercise

GAE = {
    "the wall one too early": ("return advantages", "return np.roll(advantages, 1, axis=0)"),
    "if over": ("carry * ~over[t]", "(0.0 if over[t] else carry)"),
    "an end has no next value": ("next_values[t]", "next_values[t] * ~over[t]"),
    "scaled": ("return advantages", "return advantages / advantages.std()"),
    "nothing is returned": ("return advantages", "pass"),
}
SMALLER = "torch.minimum(ratio * advantage, clipped * advantage)"
CLIPPED = {
    "the clipped one alone": (SMALLER, "(clipped * advantage)"),
    "the smaller ratio": (SMALLER, "(torch.minimum(ratio, clipped) * advantage)"),
    "a limit written into it": ("1 - clip, 1 + clip", "0.8, 1.2"),
    "detached": (".exp()", ".exp().detach()"),
    "a new tensor": ("(log_prob - old", "(torch.tensor(log_prob.tolist(), requires_grad=True) - old"),
    "a plain number": ("return -torch", "return -1.0 * float(torch", ".mean()", ".mean())"),
}
PARTS = {
    "half of a square detached": ("(value - returns).square()", "((value - returns).detach() * (value - returns))"),
    "the probability detached": ("(log_probs.exp()", "(log_probs.exp().detach()"),
    "errors cancel out": (".square()", ""),
    "mean over actions": (".sum(-1)", ""),
}
CHOSEN = "log_probs.gather(1, action[:, None])[:, 0]"
WHOLE = {
    "value detached": ("value_loss(value, returns)", "value_loss(value, returns).detach()"),
    "a column": (CHOSEN, CHOSEN.removesuffix("[:, 0]")),
    "entropy is punished": ("- ENTROPY", "+ ENTROPY"),
    "nothing weighed": ("VALUE * ", "", "ENTROPY * ", ""),
    "a clip written into it": ("advantage, clip)", "advantage, 0.2)"),
}


def forwards(rewards, values, next_values, over, gamma, lam):
    """The definition: a sum over all that follows."""
    delta = rewards + gamma * next_values - values
    made = np.zeros_like(rewards)
    for t in range(len(rewards)):
        weight = np.ones_like(rewards[0])
        for k in range(t, len(rewards)):
            made[t] += weight * delta[k]
            weight = weight * gamma * lam * np.where(over[k], 0.0, 1.0)
    return made


def by_cases(log_prob, old_log_prob, advantage, clip):
    """The minimum, written out: the limit binds above for what went well, below for what went badly."""
    ratio = torch.exp(log_prob - old_log_prob)
    binds = torch.where(advantage > 0, ratio > 1 + clip, ratio < 1 - clip)
    limit = torch.where(advantage > 0, 1 + clip, 1 - clip)
    return torch.mean(-advantage * torch.where(binds, limit, ratio))


def think(net, obs):
    out = net(obs)
    return torch.log_softmax(out[:, :-1], -1), out[:, -1]


NOTEBOOK = {"think": think, "VALUE": VALUE, "ENTROPY": ENTROPY, "CLIP": 0.2}
WHOLE_RIGHT = {
    "as the text has it": (),
    "one-hot": (CHOSEN, "(log_probs * torch.eye(2)[action]).sum(-1)"),
    "rows by number": (CHOSEN, "log_probs[torch.arange(len(action)), action]"),
}
RIGHT_GAE = {
    "the sum by its definition": forwards,
    "a list": ("return advantages", "return advantages.tolist()"),
    "the learner's": reference,
}
RIGHT_CLIPPED = {
    "two cases": by_cases,
    "the learner's": losses.policy_loss,
    "the sum over the number": (".mean()", ".sum() / len(ratio)"),
}
RIGHT_PARTS = {
    "PyTorch's": {
        "value_loss": torch.nn.functional.mse_loss,
        "entropy": lambda log_probs: torch.distributions.Categorical(logits=log_probs).entropy().mean(),
    },
    "written out": {
        "value_loss": lambda value, returns: ((returns - value) ** 2).sum() / len(value),
        "entropy": lambda log_probs: -(torch.exp(log_probs) * log_probs).sum() / len(log_probs),
    },
}
ATTEMPTS = {
    "gae": exercise("ppo", 0, "gae", GAE, RIGHT_GAE),
    "the clipped loss": exercise("ppo", 1, "policy_loss", CLIPPED, RIGHT_CLIPPED),
    "value and entropy": exercise(
        "ppo", 2, "value_loss entropy", {**PARTS, "no entropy": {"entropy": None}}, RIGHT_PARTS
    ),
    "the whole loss": exercise("ppo", 3, "loss_of think", WHOLE, WHOLE_RIGHT, **NOTEBOOK),
}
