import numpy as np

from dshq_widget.lessons.checks.world_models import columns
from tests.lessons.attempts import changed, exercise

PRODUCTS = "inputs(seen, actions).T @ inputs(seen, actions), inputs(seen, actions).T @ after"
FIT = {
    "pushes of 0 and 1": ("2 * np.asarray(actions) - 1", "actions"),
    "none if all pushes are alike": ("lstsq(inputs(seen, actions), after, rcond=None)[0]", f"solve({PRODUCTS})"),
    "the change": ("after, rcond", "after - seen, rcond"),
    "all that lstsq returns": (")[0]", ")"),
    "ten decisions only": ("inputs(seen, actions), after,", "inputs(seen[:10], actions[:10]), after[:10],"),
}
DREAM = {
    "from the start": ("inputs(now, actions)", "inputs(np.repeat(start[None], len(plans), axis=0), actions)"),
    "futures first": ("np.array(path)", "np.array(path).swapaxes(0, 1)"),
    "with the start": ("path = []", "path = [now]"),
    "backwards": ("plans.T", "plans.T[::-1]", "np.array(path)", "np.array(path)[::-1]"),
    "spoils the start": ("return np.array", "start += 1.0\n    return np.array"),
}
UP = "(np.abs(path[:, :, 0]) < FALLEN) & (np.abs(path[:, :, 2]) < FALLEN)"
PLAN = {
    "stands up again": ("np.cumprod(up, axis=0).sum", "up.sum"),
    "everything that is large": (UP, "(np.abs(path) < FALLEN).all(-1)"),
    "one lucky dream": ("means = []", "return int(plans[stands.argmax(), 0])"),
    "by the second push": ("plans[:, 0] == push", "plans[:, 1] == push"),
    "without the model": ("plans = rng", "return int(observed[2] + observed[3] > 0)\n    plans = rng"),
}
PLANNED = changed("world_models", 2, "standing plan", FALLEN=1)
standing, dream = PLANNED["standing"], changed("world_models", 1, "dream")["dream"]


def by_normal_equations(seen, actions, after):
    x = columns(seen, actions)
    return np.linalg.solve(x.T @ x, x.T @ after)


def by_pseudo_inverse(seen, actions, after):
    x = columns(seen, actions)
    return np.linalg.pinv(x.T @ x) @ x.T @ after


def by_column(seen, actions, after):
    return np.column_stack([np.linalg.pinv(columns(seen, actions)) @ column for column in after.T])


def by_rows(seen, actions):
    return [[*row, 1.0 if action else -1.0, 1.0] for row, action in zip(seen, actions, strict=True)]


def by_plan(model, start, plans):
    paths = []
    for one in plans:
        now, path = start, []
        for action in one:
            now = np.append(now, [1.0 if action else -1.0, 1.0]) @ model
            path.append(now)
        paths.append(path)
    return np.array(paths).transpose(1, 0, 2)


def by_filling(model, start, plans):
    path = np.zeros((plans.shape[1], len(plans), 4))
    for d in range(plans.shape[1]):
        path[d] = columns(path[d - 1] if d else np.tile(start, (len(plans), 1)), plans[:, d]) @ model
    return path


def by_first_fall(path):
    down = np.abs(path[:, :, [0, 2]]).max(axis=2) >= 1
    return np.where(down.any(axis=0), down.argmax(axis=0), len(path))


def by_loops(path):
    found = []
    for future in range(path.shape[1]):
        age = 0
        while age < len(path) and abs(path[age, future, 0]) < 1 and abs(path[age, future, 2]) < 1:
            age += 1
        found.append(age)
    return found


def by_difference(model, observed, rng, futures=64, decisions=20):
    """The sign of the covariance of the first push and the time that the pole stands."""
    plans = rng.integers(2, size=(futures, decisions))
    first, stands = plans[:, 0], standing(dream(model, observed, plans))
    together = np.mean((first - first.mean()) * stands)
    return int(first[0] if together == 0 else together > 0)


RIGHT_FIT = {
    "rows and normal equations": {"inputs": by_rows, "fit": by_pseudo_inverse},
    "pseudo-inverse": {"inputs": columns, "fit": by_column},
}
RIGHT_PLAN = {"the first fall": by_first_fall, "loops and a covariance": {"standing": by_loops, "plan": by_difference}}
SHOWN = {"what the hint has shown": lambda path: [5, 2, 3, 5, 0, 4]}
RIGHT_DREAM = {"plan by plan": by_plan, "an array that is filled": by_filling}
ATTEMPTS = {
    "fit": exercise("world_models", 0, "inputs fit", FIT, RIGHT_FIT),
    "dream": exercise("world_models", 1, "dream", DREAM, RIGHT_DREAM),
    "plan": exercise("world_models", 2, "standing plan", {**PLAN, **SHOWN}, RIGHT_PLAN, FALLEN=1),
}
