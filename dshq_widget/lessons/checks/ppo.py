"""Whether somebody's `gae`, their clipped loss, value loss and entropy, and the sum of the three are the learner's."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from dshq_widget.algorithms.ppo.learners import losses
from dshq_widget.lessons.checks.slips import TOLERANCE, hint, same

GAMMA, GAE_LAMBDA = 0.9, 0.5
REWARDS = np.array([0, 0, 0, 0, 0, 1, 0, 0, 0, 0], np.float32)
VALUES = np.array([0.2, 0.2, 0.3, 0.3, 0.5, 0.6, 0.2, 0.1, 0.2, 0.3], np.float32)
NEXT_VALUES = np.array([0.2, 0.3, 0.3, 0.5, 0.6, 0.0, 0.1, 0.2, 0.3, 0.4], np.float32)
OVER = np.array([0, 0, 0, 0, 0, 1, 0, 0, 0, 0], bool)
"""Ten decisions of one game: a goal ends the first episode at decision 5, the second one continues behind the last.
What follows a goal is worth nothing; what follows decision 9 is worth 0.4.
"""
CLIP, VALUE, ENTROPY = 0.2, 0.5, 0.01
SLOPE = 1e-5
"""How far a slope may be off: the mean over 256 samples makes them small, and f32 rounds."""
DONE = "It says the same as the project's own learner, on numbers that were drawn for this check as well."


def reference(
    rewards: np.ndarray, values: np.ndarray, next_values: np.ndarray, over: np.ndarray, gamma: float, gae_lambda: float
) -> np.ndarray:
    """Advantages by the learner's own formula, f32 of the shape of `rewards`: decisions, or decisions x games.

    `next_values` has the value of what follows each decision: 0 where the episode has ended for good.
    """
    parts = [torch.as_tensor(np.reshape(part, (len(part), -1))) for part in (rewards, values, next_values, over)]
    reward, value, following, ended = parts
    advantages, _ = losses.gae(
        reward, value, following[-1], following, torch.zeros_like(ended), ended, gamma, gae_lambda
    )
    return advantages.numpy().reshape(np.shape(rewards))


def missing(
    gae: Callable[..., Any] | None = None,
    *,
    policy_loss: Callable[..., Any] | None = None,
    value_loss: Callable[..., Any] | None = None,
    entropy: Callable[..., Any] | None = None,
    loss_of: Callable[..., Any] | None = None,
    think: Callable[..., Any] | None = None,
) -> list[str]:
    """What the answers to the four exercises lack, as far as they are given; `think` belongs to `loss_of`."""
    if gae is not None:
        return _gae(gae)
    if policy_loss is not None:
        return _policy_loss(policy_loss)
    if value_loss is not None or entropy is not None:
        return _value_loss(value_loss) or _entropy(entropy)
    if loss_of is not None and think is not None:
        return _loss_of(loss_of, think)
    return ["Give what you wrote by its name: `check('ppo', gae=gae)`."]


def _gae(gae: Callable[..., Any]) -> list[str]:
    ten = (REWARDS, VALUES, NEXT_VALUES, OVER)
    kept = [part.copy() for part in ten]
    try:
        given = gae(*kept, GAMMA, GAE_LAMBDA)
    except IndexError:
        return [
            "It looks behind the last decision, where no advantage is. Keep the next advantage in a variable that is 0 "
            "before the loop."
        ]
    if given is None:
        return ["`gae` returns nothing: end it with `return advantages`."]
    answer = np.asarray(given, np.float64)
    if answer.shape != REWARDS.shape:
        return [f"`gae` should return ten advantages, one for each decision; it returned shape {answer.shape}."]
    if any((one != other).any() for one, other in zip(kept, ten, strict=True)):
        return ["`gae` changes the arrays that it is given. Write into one of your own: `np.zeros_like(rewards)`."]
    wanted = reference(*ten, GAMMA, GAE_LAMBDA).astype(np.float64)
    if not same(answer, wanted):
        return _hints(answer, wanted)
    rng = np.random.default_rng(4)
    rewards, values, finals = rng.standard_normal((3, 64, 8)).astype(np.float32)
    over = rng.random((64, 8)) < 0.1
    next_values = np.where(over, finals * rng.integers(0, 2, (64, 8)), np.concatenate([values[1:], finals[-1:]]))
    many = rewards, values, next_values.astype(np.float32), over
    try:
        answer = np.asarray(gae(*many, 0.97, 0.9), np.float64)
    except (TypeError, ValueError) as error:
        return [
            f"Right on the ten numbers. On 64 decisions of 8 games it ends with {type(error).__name__}: there "
            "`over[t]` is a row of 8, which no `if` and no `not` can take. Multiply by `~over[t]`, or use `np.where`."
        ]
    if answer.shape != over.shape:
        return [f"For 64 decisions of 8 games at once it should return shape (64, 8); it returned {answer.shape}."]
    if not same(answer, reference(*many, 0.97, 0.9)):
        return [
            "Right on the ten numbers, wrong on 64 decisions of 8 games with other settings. Is `gamma`, `gae_lambda` "
            "or the end of an episode written into it as a number? Does one game's carry leak into the next?"
        ]
    return []


def _hints(answer: np.ndarray, wanted: np.ndarray) -> list[str]:
    """Which of the usual slips these ten numbers are, or the last decision at which they are wrong."""
    surprise = REWARDS + GAMMA * NEXT_VALUES - VALUES
    slips = {
        "These are only the surprises. Each advantage also carries `gamma * gae_lambda` of the one after it.": (
            surprise
        ),
        "The goal's surprise is right, but the next episode's leaks into it: where `over`, nothing is carried back.": (
            _carried(surprise, np.zeros_like(OVER), GAMMA * GAE_LAMBDA)
        ),
        "The carry shrinks by `gae_lambda` only; it is worth less by `gamma` as well, with every decision.": (
            _carried(surprise, OVER, GAE_LAMBDA)
        ),
        "The carry shrinks by `gamma` only; `gae_lambda` is missing.": _carried(surprise, OVER, GAMMA),
        "These are returns. Advantages are what is left without the value that was expected anyway.": wanted + VALUES,
        "The right numbers in the wrong order: the first one belongs to decision 0.": wanted[::-1],
    }
    if found := hint(answer, slips):
        return found
    last = int(np.flatnonzero(~np.isclose(answer, wanted, rtol=TOLERANCE, atol=TOLERANCE))[-1])
    return [
        f"Advantage {last} should be {wanted[last]:.4f} and is {answer[last]:.4f}; those after it are right."
        if last < len(wanted) - 1
        else f"The last advantage has nothing after it: `0 + 0.9 * 0.4 - 0.3` is {wanted[last]:.4f}, and yours is "
        f"{answer[last]:.4f}. Begin there and go backwards."
    ]


def _carried(surprise: np.ndarray, over: np.ndarray, factor: float) -> np.ndarray:
    """Each surprise with those behind it, weighed by `factor` a decision."""
    carried, carry = np.zeros(len(surprise)), 0.0
    for t in reversed(range(len(surprise))):
        carry = float(surprise[t]) + factor * carry * (not over[t])
        carried[t] = carry
    return carried


def drawn(samples: int = 256) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Log-probabilities, the old ones, and advantages, each f32 `[samples]`: ratios on both sides of the clip."""
    rng = np.random.default_rng(5)
    old = rng.uniform(-2.0, -0.3, samples)
    new = old + rng.normal(0, 0.4, samples)
    return tuple(torch.tensor(part, dtype=torch.float32) for part in (new, old, rng.standard_normal(samples)))  # type: ignore[return-value]


def _number(answer: Any, name: str) -> list[str]:
    """What keeps an answer from being one number with slopes."""
    if answer is None:
        return [f"`{name}` returns nothing: end it with `return`."]
    if not isinstance(answer, torch.Tensor):
        return [f"`{name}` gives {type(answer).__name__}. Stay with PyTorch's functions: it has to find the slopes."]
    if answer.numel() != 1:
        return [f"`{name}` gives {answer.numel()} numbers. One is wanted: end with `.mean()`."]
    return []


def _slopes(loss: torch.Tensor, of: Sequence[torch.Tensor]) -> torch.Tensor:
    """Slopes of a number in each element of `of`, in a row; 0 where it does not depend on one."""
    found = torch.autograd.grad(loss.sum(), of, retain_graph=True, allow_unused=True)
    return torch.cat([(torch.zeros_like(x) if g is None else g).flatten() for x, g in zip(of, found, strict=True)])


def _policy_loss(policy_loss: Callable[..., Any]) -> list[str]:
    new, old, advantage = drawn()
    with torch.no_grad():
        ratio = (new - old).exp()
        clipped = ratio.clamp(1 - CLIP, 1 + CLIP)
        wanted = losses.policy_loss(new, old, advantage, CLIP)
        slips = {
            "This is the mean itself. A loss is made small, so give minus the mean.": -wanted,
            "There is no ratio yet: it is `(log_prob - old_log_prob).exp()`.": -(new * advantage).mean(),
            "These are unclipped: take the smaller of ratio times advantage and clipped ratio times advantage.": (
                -(ratio * advantage).mean()
            ),
            "Only the clipped ratio counts, and what went the wrong way cannot come back. Take the smaller.": (
                -(clipped * advantage).mean()
            ),
            "This is the larger of the two; PPO takes the smaller: `torch.minimum`.": (
                -torch.maximum(ratio * advantage, clipped * advantage).mean()
            ),
            "The smaller RATIO was taken. Multiply each by the advantage first, then take the smaller product.": (
                -(torch.minimum(ratio, clipped) * advantage).mean()
            ),
            "The ratio is upside down: the new probability belongs on top, `(log_prob - old_log_prob).exp()`.": (
                losses.policy_loss(old, new, advantage, CLIP)
            ),
            "These are logarithms. The ratio is `.exp()` of their difference.": (
                -torch.minimum((new - old) * advantage, (new - old).clamp(1 - CLIP, 1 + CLIP) * advantage).mean()
            ),
            "Logarithms are divided. The ratio is `.exp()` of their difference.": (
                -torch.minimum(new / old * advantage, (new / old).clamp(1 - CLIP, 1 + CLIP) * advantage).mean()
            ),
            "This is the sum. Give the mean, or the steps grow with the number of samples.": wanted * len(new),
        }
    again = new.clone().requires_grad_()
    slopes = _slopes(losses.policy_loss(again, old, advantage, CLIP), [again])
    narrow = float(losses.policy_loss(new, old, advantage, 0.05))
    theirs = drawn()
    answer = policy_loss(theirs[0].requires_grad_(), *theirs[1:], CLIP)
    if found := _number(answer, "policy_loss"):
        return found
    given = float(answer.detach())
    if not same(given, wanted):
        return hint(given, slips) or [
            f"On numbers drawn for this check it should be {float(wanted):.4f} and is {given:.4f}."
        ]
    if not answer.requires_grad:
        return ["The number is right, but it has no slope: leave `.detach()`, `.item()` and `no_grad` out."]
    if not torch.allclose(_slopes(answer, theirs[:1]), slopes, atol=SLOPE):
        return ["The number is right, but its slopes are not: is a part of it detached?"]
    if not np.isclose(float(policy_loss(*drawn(), 0.05)), narrow, atol=TOLERANCE):
        return ["Right for `clip` = 0.2 and wrong for 0.05: is 0.8 or 1.2 written into it?"]
    return []


def _value_loss(value_loss: Callable[..., Any] | None) -> list[str]:
    if value_loss is None:
        return ["Give both: `check('ppo', value_loss=value_loss, entropy=entropy)`."]
    value, _, returns = drawn()
    right = losses.value_loss(value.requires_grad_(), value, returns, None)
    wanted, slopes = right.item(), _slopes(right, [value])
    difference = (value - returns).detach()
    slips = {
        "`value_loss` lets errors cancel out. Square them first, then take the mean.": difference.mean(),
        "`value_loss` takes sizes of errors. Wanted are their squares.": difference.abs().mean(),
        "`value_loss` is the sum. Give the mean.": difference.square().sum(),
        "`value_loss` is the square of the mean. Square each error first.": difference.mean().square(),
        "`value_loss` is the root of the mean square. Leave the root out.": difference.square().mean().sqrt(),
        "`value_loss` has the wrong sign: an error is bad, so its square counts as loss.": -difference.square().mean(),
        "`value_loss` has a factor 0.5. That one comes in step 4: give the plain mean.": difference.square().mean() / 2,
    }
    theirs, _, returns = drawn()
    answer = value_loss(theirs.requires_grad_(), returns)
    if found := _number(answer, "value_loss"):
        return found
    given = float(answer.detach())
    if not answer.requires_grad:
        return ["`value_loss` has no slope: leave `.detach()` and `.item()` out."]
    if same(given, wanted):
        if torch.allclose(_slopes(answer, [theirs]), slopes, atol=SLOPE):
            return []
        return ["The number of `value_loss` is right, but its slopes in `value` are not: is a part of it detached?"]
    return hint(given, slips) or [
        f"`value_loss` should be {wanted:.4f} on numbers drawn for this check, and is {given:.4f}."
    ]


def _entropy(entropy: Callable[..., Any] | None) -> list[str]:
    if entropy is None:
        return ["Give both: `check('ppo', value_loss=value_loss, entropy=entropy)`."]
    scores = torch.tensor(np.random.default_rng(6).normal(0, 1.5, (64, 3)), dtype=torch.float32, requires_grad=True)
    theirs = scores.detach().clone().requires_grad_()
    log_probs = torch.log_softmax(scores, -1)
    right = losses.entropy(log_probs)
    wanted, slopes = right.item(), _slopes(right, [scores])
    with torch.no_grad():
        each = log_probs.exp() * log_probs
        summed = each.sum(-1).mean()
        slips = {
            "`entropy` weighs all actions alike. Each logarithm counts as much as its action's probability.": (
                -log_probs.mean()
            ),
            "`entropy` has the wrong sign: logarithms of probabilities are below 0, entropy is above.": summed,
            "`entropy` takes the mean over actions. Add them up: `.sum(-1)`.": -each.mean(),
            "`entropy` adds up the samples as well. Take their mean.": -each.sum(),
            "`entropy` is in bits; nats are wanted: the natural logarithm, as it stands in `log_probs`.": (
                -summed / np.log(2)
            ),
        }
    answer = entropy(torch.log_softmax(theirs, -1))
    if found := _number(answer, "entropy"):
        return found
    given = float(answer.detach())
    if not answer.requires_grad:
        return ["`entropy` has no slope: leave `.detach()` and `.item()` out."]
    if same(given, wanted):
        if torch.allclose(_slopes(answer, [theirs]), slopes, atol=SLOPE):
            return []
        return [
            "The number of `entropy` is right, but its slopes are not: is the probability detached? It is what the "
            "entropy changes with."
        ]
    return hint(given, slips) or [
        f"`entropy` should be {wanted:.4f} on numbers drawn for this check, and is {given:.4f}."
    ]


def _loss_of(loss_of: Callable[..., Any], think: Callable[..., Any]) -> list[str]:
    net = torch.nn.Linear(4, 3)
    rng = np.random.default_rng(7)
    with torch.no_grad():
        net.weight.copy_(torch.tensor(rng.normal(0, 1, (3, 4))))
        net.bias.zero_()
    new, old, advantage = drawn()
    obs, action = torch.tensor(rng.normal(0, 1, (256, 4)), dtype=torch.float32), torch.arange(256) % 2
    theirs, again = copy.deepcopy((net, obs, action)), copy.deepcopy((net, obs, action))
    with torch.no_grad():
        log_probs, value = think(net, obs)
        chosen = log_probs.gather(1, action[:, None])[:, 0]
        policy = losses.policy_loss(chosen, old, advantage, CLIP)
        first = losses.policy_loss(log_probs[:, 0], old, advantage, CLIP)
        every = losses.policy_loss(chosen[:, None], old, advantage, CLIP)  # each sample with each
        error, spread = losses.value_loss(value, value, new, None), losses.entropy(log_probs)
    wanted = policy + VALUE * error - ENTROPY * spread
    slips = {
        "Two parts are missing, and the log-probability is that of action 0. `gather` the chosen one's.": first,
        "The log-probability is that of action 0: `log_probs.gather(1, action[:, None])[:, 0]`.": (
            first + VALUE * error - ENTROPY * spread
        ),
        "The chosen ones have shape [256, 1] and meet each sample with each. Take the column: `[:, 0]`.": (
            every + VALUE * error - ENTROPY * spread
        ),
        "The value loss and the entropy are missing.": policy,
        "The entropy is missing: `- ENTROPY * entropy(log_probs)`.": policy + VALUE * error,
        "The value loss is missing: `+ VALUE * value_loss(value, returns)`.": policy - ENTROPY * spread,
        "The entropy has the wrong sign. More of it shall make the loss smaller.": policy
        + VALUE * error
        + ENTROPY * spread,
        "The value loss has the wrong sign. Training would make values worse.": policy
        - VALUE * error
        - ENTROPY * spread,
        "Nothing is weighed: `VALUE` times the value loss, `ENTROPY` times the entropy.": policy + error - spread,
        "The value loss is not weighed: `VALUE` times.": policy + error - ENTROPY * spread,
        "The entropy is not weighed: `ENTROPY` times.": policy + VALUE * error - spread,
        "The policy loss has the wrong sign: `policy_loss` already has its minus.": -policy
        + VALUE * error
        - ENTROPY * spread,
    }
    narrower = float(losses.policy_loss(chosen, old, advantage, 0.05) - policy)
    parts = _parts(net, (obs, action, old, advantage, new), think)
    new, old, advantage = drawn()
    answer = loss_of(*theirs, old, advantage, new)
    if found := _number(answer, "loss_of"):
        return found
    if not answer.requires_grad:
        return ["`loss_of` has no slope: leave `.detach()`, `.item()` and `no_grad` out."]
    given = float(answer.detach())
    if not same(given, wanted):
        return hint(given, slips) or [
            f"On samples drawn for this check it should be {float(wanted):.4f} and is {given:.4f}."
        ]
    if parts is None:
        return ["What `think` gives has no slope: leave `.detach()` and `no_grad` out of it."]
    if found := _lost(_slopes(answer, list(theirs[0].parameters())), parts):
        return found
    new, old, advantage = drawn()
    narrow = float(loss_of(*again, old, advantage, new, clip=0.05).detach())
    if not np.isclose(narrow - given, narrower, atol=TOLERANCE):
        return ["Right for the usual clip, wrong for `clip=0.05`: hand `clip` on to `policy_loss`."]
    return []


def _parts(
    net: torch.nn.Module, samples: tuple[torch.Tensor, ...], think: Callable[..., Any]
) -> dict[str, torch.Tensor] | None:
    """The slopes of each part of the loss in the weights and biases of `net`; None where `think` gives none."""
    obs, action, old, advantage, returns = samples
    log_probs, value = think(net, obs)
    if not (log_probs.requires_grad and value.requires_grad):
        return None
    chosen = log_probs.gather(1, action[:, None])[:, 0]
    parts = {
        "the policy loss": losses.policy_loss(chosen, old, advantage, CLIP),
        "the value loss": VALUE * losses.value_loss(value, value, returns, None),
        "the entropy": -ENTROPY * losses.entropy(log_probs),
    }
    return {name: _slopes(part, list(net.parameters())) for name, part in parts.items()}


def _lost(slopes: torch.Tensor, each: Mapping[str, torch.Tensor]) -> list[str]:
    """Which part of the loss is right as a number only, from its slopes."""
    wanted = torch.stack(list(each.values())).sum(0)
    if torch.allclose(slopes, wanted, atol=SLOPE):
        return []
    for name, part in each.items():
        if torch.allclose(slopes, wanted - part, atol=SLOPE):
            return [f"The number is right, but {name} has no slope: hand it what `think` gave, without `.detach()`."]
    return ["The number is right, but its slopes in the weights are not: is a part of it detached?"]
