import numpy as np

from tests.lessons.attempts import Attempts, one


def by_loop(phi, gamma):
    return [gamma * after - before for before, after in zip(list(phi), list(phi)[1:], strict=False)]


def final_is_0(phi, gamma):
    after = np.append(phi[1:-1], 0.0)
    return gamma * after - phi[:-1]


ATTEMPTS = {
    "payments": Attempts(
        one(
            {
                "turned round": lambda phi, gamma: phi[:-1] - gamma * phi[1:],
                "gamma written into it": lambda phi, gamma: 0.9 * phi[1:] - phi[:-1],
                "the sum": lambda phi, gamma: gamma * phi[-1] - phi[0],
                "only progress is paid": lambda phi, gamma: np.maximum(0, gamma * phi[1:] - phi[:-1]),
                "discounted twice": lambda phi, gamma: gamma ** np.arange(len(phi) - 1) * (gamma * phi[1:] - phi[:-1]),
            }
        ),
        one({"a list": by_loop, "the final potential counts as 0": final_is_0}),
    )
}
