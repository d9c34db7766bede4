import numpy as np

from dshq_widget.lessons.checks.ppo import reference
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
    )
}
