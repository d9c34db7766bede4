import numpy as np
import torch

from dshq_widget.algorithms.ppo.learners import losses
from dshq_widget.lessons.checks.ppo import ENTROPY, VALUE, reference
from tests.lessons.attempts import Attempts, one


def gae(*, shrink=lambda gamma, lam: gamma * lam, wall=lambda carry, over: carry * ~over, step=None, keep=None):
    """An answer with one slip: how the carry shrinks, what an end does to it, what a surprise is, what is returned."""

    def answer(rewards, values, next_values, over, gamma, gae_lambda):
        advantages, carry = np.zeros_like(rewards), 0 * rewards[0]
        for t in reversed(range(len(rewards))):
            surprise = (
                rewards[t] + gamma * next_values[t] - values[t]
                if step is None
                else step(rewards[t], values[t], next_values[t], over[t], gamma)
            )
            carry = surprise + shrink(gamma, gae_lambda) * wall(carry, over[t])
            advantages[t] = carry
        return advantages if keep is None else keep(advantages, values)

    return answer


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


def listed(*given):
    return gae(wall=lambda carry, over: np.where(over, 0.0, carry))(*given).tolist()


def clipped(pick=torch.minimum, of=lambda new, old: (new - old).exp(), end=lambda gain: -gain.mean(), low=None):
    """A clipped loss with one slip: which product counts, what the ratio is, what is given, a limit written into it."""

    def policy_loss(log_prob, old_log_prob, advantage, clip):
        ratio = of(log_prob, old_log_prob)
        held = ratio.clamp(low or 1 - clip, 2 - low if low else 1 + clip)
        return end(pick(ratio * advantage, held * advantage))

    return policy_loss


def by_cases(log_prob, old_log_prob, advantage, clip):
    """The minimum, written out: the limit binds above for what went well, below for what went badly."""
    ratio = torch.exp(log_prob - old_log_prob)
    binds = torch.where(advantage > 0, ratio > 1 + clip, ratio < 1 - clip)
    limit = torch.where(advantage > 0, 1 + clip, 1 - clip)
    return torch.mean(-advantage * torch.where(binds, limit, ratio))


def smaller_ratio(log_prob, old_log_prob, advantage, clip):
    ratio = (log_prob - old_log_prob).exp()
    return -(torch.minimum(ratio, ratio.clamp(1 - clip, 1 + clip)) * advantage).mean()


def errors(give):
    """A value loss, beside the right entropy."""
    return {"value_loss": lambda value, returns: give(value - returns), "entropy": losses.entropy}


def spread(give):
    """An entropy, beside the right value loss."""
    return {"value_loss": torch.nn.functional.mse_loss, "entropy": give}


def think(net, obs):
    out = net(obs)
    return torch.log_softmax(out[:, :-1], -1), out[:, -1]


def whole(
    policy=1.0, value=VALUE, entropy=ENTROPY, pick=None, clip_of=lambda clip: clip, end=lambda loss: loss, cut=()
):
    """A whole loss with one slip: a weight, which log-probability, which clip, what is given, which parts have no
    slope.
    """

    def loss_of(net, obs, action, old_log_prob, advantage, returns, clip=0.2):
        log_probs, said = think(net, obs)
        chosen = log_probs.gather(1, action[:, None])[:, 0] if pick is None else pick(log_probs, action)
        clip = clip_of(clip)
        parts = [
            policy * losses.policy_loss(chosen, old_log_prob, advantage, clip),
            value * (said - returns).square().mean(),
            -entropy * losses.entropy(log_probs),
        ]
        return end(sum(part.detach() if k in cut else part for k, part in enumerate(parts)))

    return {"loss_of": loss_of, "think": think}


ATTEMPTS = {
    "gae": Attempts(
        one(
            {
                "only surprises": gae(shrink=lambda gamma, lam: 0),
                "gamma missing": gae(shrink=lambda gamma, lam: lam),
                "lambda missing": gae(shrink=lambda gamma, lam: gamma),
                "no wall": gae(wall=lambda carry, over: carry),
                "wall the wrong way round": gae(wall=lambda carry, over: carry * over),
                "the wall one too early": gae(keep=lambda advantages, values: np.roll(advantages, 1, axis=0)),
                "if over": gae(wall=lambda carry, over: 0.0 if over else carry),
                "not over": gae(wall=lambda carry, over: carry * (not over)),
                "an end has no next value": gae(step=lambda r, v, n, over, gamma: r + gamma * n * ~over - v),
                "values not taken away": gae(step=lambda r, v, n, over, gamma: r + gamma * n),
                "next value not discounted": gae(step=lambda r, v, n, over, gamma: r + n - v),
                "returns": gae(keep=np.add),
                "backwards": gae(keep=lambda advantages, values: advantages[::-1]),
                "scaled": gae(keep=lambda advantages, values: advantages / advantages.std()),
                "numbers written into it": gae(shrink=lambda gamma, lam: 0.45),
                "nothing is returned": gae(keep=lambda advantages, values: None),
            }
        ),
        one({"the sum by its definition": forwards, "a list": listed, "the learner's": reference}),
    ),
    "the clipped loss": Attempts(
        {
            name: {"policy_loss": answer}
            for name, answer in {
                "the plain policy gradient": lambda new, old, advantage, clip: -(new * advantage).mean(),
                "no clip": lambda new, old, advantage, clip: -((new - old).exp() * advantage).mean(),
                "the clipped one alone": clipped(pick=lambda plain, held: held),
                "the larger": clipped(pick=torch.maximum),
                "the smaller ratio": smaller_ratio,
                "no minus": clipped(end=torch.mean),
                "upside down": clipped(of=lambda new, old: (old - new).exp()),
                "no exp": clipped(of=lambda new, old: new - old),
                "logarithms divided": clipped(of=lambda new, old: new / old),
                "the sum": clipped(end=lambda gain: -gain.sum()),
                "one for each sample": clipped(end=lambda gain: -gain),
                "a limit written into it": clipped(low=0.8),
                "detached": clipped(of=lambda new, old: (new - old).exp().detach()),
                "a plain number": clipped(end=lambda gain: -float(gain.mean())),
                "nothing is returned": clipped(end=lambda gain: None),
            }.items()
        },
        {
            "two cases": {"policy_loss": by_cases},
            "the learner's": {"policy_loss": losses.policy_loss},
            "the sum over the number": {"policy_loss": clipped(end=lambda gain: -gain.sum() / len(gain))},
        },
    ),
    "value and entropy": Attempts(
        {
            "half of a square detached": errors(lambda error: (error.detach() * error).mean()),
            "the probability detached": spread(
                lambda log_probs: -(log_probs.detach().exp() * log_probs).sum(-1).mean()
            ),
            "errors cancel out": errors(torch.mean),
            "sizes of errors": errors(lambda error: error.abs().mean()),
            "squares added up": errors(lambda error: error.square().sum()),
            "the square of the mean": errors(lambda error: error.mean().square()),
            "the root": errors(lambda error: error.square().mean().sqrt()),
            "minus": errors(lambda error: -error.square().mean()),
            "half": errors(lambda error: 0.5 * error.square().mean()),
            "one for each sample": errors(torch.square),
            "no value loss": {"entropy": losses.entropy},
            "nothing is returned": errors(lambda error: None),
            "all actions alike": spread(lambda log_probs: -log_probs.mean()),
            "below zero": spread(lambda log_probs: (log_probs.exp() * log_probs).sum(-1).mean()),
            "mean over actions": spread(lambda log_probs: -(log_probs.exp() * log_probs).mean()),
            "all added up": spread(lambda log_probs: -(log_probs.exp() * log_probs).sum()),
            "bits": spread(lambda log_probs: -(log_probs.exp() * log_probs.exp().log2()).sum(-1).mean()),
            "no entropy": {"value_loss": torch.nn.functional.mse_loss},
        },
        {
            "PyTorch's": {
                "value_loss": torch.nn.functional.mse_loss,
                "entropy": lambda log_probs: torch.distributions.Categorical(logits=log_probs).entropy().mean(),
            },
            "written out": {
                "value_loss": lambda value, returns: ((returns - value) ** 2).sum() / len(value),
                "entropy": lambda log_probs: -(torch.exp(log_probs) * log_probs).sum() / len(log_probs),
            },
        },
    ),
    "the whole loss": Attempts(
        {
            "as it is found": whole(value=0.0, entropy=0.0, pick=lambda log_probs, action: log_probs[:, 0]),
            "value detached": whole(cut=[1]),
            "entropy detached": whole(cut=[2]),
            "both detached": whole(cut=[1, 2]),
            "action 0": whole(pick=lambda log_probs, action: log_probs[:, 0]),
            "a column": whole(pick=lambda log_probs, action: log_probs.gather(1, action[:, None])),
            "the policy alone": whole(value=0.0, entropy=0.0),
            "no entropy": whole(entropy=0.0),
            "no value": whole(value=0.0),
            "entropy is punished": whole(entropy=-ENTROPY),
            "good values are punished": whole(value=-VALUE),
            "nothing weighed": whole(value=1.0, entropy=1.0),
            "the value not weighed": whole(value=1.0),
            "the entropy not weighed": whole(entropy=1.0),
            "the policy is punished": whole(policy=-1.0),
            "a clip written into it": whole(clip_of=lambda clip: 0.2),
            "nothing is returned": whole(end=lambda loss: None),
            "a plain number": whole(end=float),
        },
        {
            "as the text has it": whole(),
            "one-hot": whole(pick=lambda log_probs, action: (log_probs * torch.eye(2)[action]).sum(-1)),
            "rows by number": whole(pick=lambda log_probs, action: log_probs[torch.arange(len(action)), action]),
        },
    ),
}
