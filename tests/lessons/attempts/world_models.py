import numpy as np

from dshq_widget.lessons.checks.world_models import columns, dreamt
from tests.lessons.attempts import Attempts


def fit(seen, actions, after, *, before=columns, rows=None):
    return np.linalg.lstsq(before(seen[:rows], actions[:rows]), after[:rows], rcond=None)[0]


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


def model(before, fitted=fit):
    return {"inputs": before, "fit": fitted}


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


def from_the_start(model, start, plans):
    return np.array([columns(np.repeat(start[None], len(plans), 0), actions) @ model for actions in plans.T])


def in_place(model, start, plans):
    path = dreamt(model, start, plans)
    start += 1.0
    return path


def standing(path, *, level=1.0, at=(0, 2), size=np.abs):
    up = (size(path[..., list(at)]) < level).all(-1)
    return np.cumprod(up, axis=0).sum(0)


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


def plan(model, observed, rng, futures=64, decisions=20, *, ahead=dreamt, choose=np.argmax):
    plans = rng.integers(2, size=(futures, decisions))
    stands = standing(ahead(model, observed, plans))
    means = [stands[plans[:, 0] == push].mean() if (plans[:, 0] == push).any() else None for push in (0, 1)]
    if None in means:
        return int(means[0] is None)
    return int(choose(means))


def by_difference(model, observed, rng, futures=64, decisions=20):
    """The sign of the covariance of the first push and the time that the pole stands."""
    plans = rng.integers(2, size=(futures, decisions))
    first, stands = plans[:, 0], standing(dreamt(model, observed, plans))
    together = np.mean((first - first.mean()) * stands)
    return int(first[0] if together == 0 else together > 0)


def longest(model, observed, rng, futures=64, decisions=20):
    """The first push of the dream that stands longest."""
    plans = rng.integers(2, size=(futures, decisions))
    return int(plans[standing(dreamt(model, observed, plans)).argmax(), 0])


def without_model(model, observed, rng, futures=64, decisions=20):
    return int(observed[2] + observed[3] > 0)


def planned(stands, decide):
    return {"standing": stands, "plan": decide}


ATTEMPTS = {
    "fit": Attempts(
        {
            "zeros": model(lambda seen, actions: np.zeros((len(seen), 6))),
            "pushes of 0 and 1": model(lambda seen, actions: np.column_stack([seen, actions, np.ones(len(seen))])),
            "left is +1": model(lambda seen, actions: np.column_stack([seen, 1 - 2 * actions, np.ones(len(seen))])),
            "no constant": model(lambda seen, actions: np.column_stack([seen, 2 * actions - 1])),
            "the push last": model(lambda seen, actions: columns(seen, actions)[:, [0, 1, 2, 3, 5, 4]]),
            "rows": model(lambda seen, actions: columns(seen, actions).T),
            "nothing goes in": model(lambda seen, actions: None),
            "observations turned round": model(lambda seen, actions: columns(-seen, actions)),
            "none if all pushes are alike": model(columns, by_normal_equations),
            "nothing changes": model(columns, lambda seen, actions, after: np.eye(6, 4)),
            "the change": model(columns, lambda seen, actions, after: fit(seen, actions, after - seen)),
            "all that lstsq returns": model(
                columns, lambda seen, actions, after: np.linalg.lstsq(columns(seen, actions), after, rcond=None)
            ),
            "without the push": model(
                columns, lambda seen, actions, after: np.linalg.lstsq(seen, after, rcond=None)[0]
            ),
            "the wrong way": model(columns, lambda seen, actions, after: fit(after, actions, seen)),
            "ten decisions only": model(columns, lambda *given: fit(*given, rows=10)),
            "nothing comes out": model(columns, lambda seen, actions, after: None),
        },
        {"rows and normal equations": model(by_rows, by_pseudo_inverse), "pseudo-inverse": model(columns, by_column)},
    ),
    "dream": Attempts(
        {
            "from the start": {"dream": from_the_start},
            "futures first": {"dream": lambda *given: dreamt(*given).swapaxes(0, 1)},
            "with the start": {
                "dream": lambda model, start, plans: np.concatenate(
                    [np.repeat(start[None, None], len(plans), 1), dreamt(model, start, plans)]
                )
            },
            "the end alone": {"dream": lambda *given: dreamt(*given)[-1]},
            "the first push again": {
                "dream": lambda model, start, plans: dreamt(model, start, np.repeat(plans[:, :1], plans.shape[1], 1))
            },
            "backwards": {"dream": lambda model, start, plans: dreamt(model, start, plans[:, ::-1])[::-1]},
            "no push": {
                "dream": lambda model, start, plans: dreamt(model * [[1], [1], [1], [1], [0], [1]], start, plans)
            },
            "pushes turned": {"dream": lambda model, start, plans: dreamt(model, start, 1 - plans)},
            "the change": {"dream": lambda model, start, plans: dreamt(model - np.eye(6, 4), start, plans)},
            "one future": {"dream": lambda model, start, plans: dreamt(model, start, plans)[:, 0]},
            "spoils the start": {"dream": in_place},
            "nothing": {"dream": lambda *given: None},
        },
        {"plan by plan": {"dream": by_plan}, "an array that is filled": {"dream": by_filling}},
    ),
    "plan": Attempts(
        {
            "never falls": planned(lambda path: np.full(path.shape[1], len(path)), plan),
            "stands up again": planned(lambda path: (np.abs(path[..., [0, 2]]) < 1).all(-1).sum(0), plan),
            "the angle alone": planned(lambda path: standing(path, at=(2,)), plan),
            "everything that is large": planned(lambda path: standing(path, at=(0, 1, 2, 3)), plan),
            "to the right alone": planned(lambda path: standing(path, size=np.asarray), plan),
            "one too many": planned(lambda path: np.minimum(standing(path) + 1, len(path)), plan),
            "what the hint has shown": planned(lambda path: [5, 2, 3, 5, 0, 4], plan),
            "exactly 1 stands": planned(lambda path: standing(path, level=1.0001), plan),
            "one number": planned(lambda path: standing(path).sum(), plan),
            "nothing is counted": planned(lambda path: None, plan),
            "the first of the plans": planned(standing, lambda model, observed, rng, *rest: int(rng.integers(2))),
            "one lucky dream": planned(standing, longest),
            "the worse push": planned(standing, lambda *given: plan(*given, choose=np.argmin)),
            "always right": planned(standing, lambda *given: 1),
            "without the model": planned(standing, without_model),
            "the whole plan": planned(standing, lambda model, observed, rng, *rest: rng.integers(2, size=20)),
            "nothing is planned": planned(standing, lambda *given: None),
            "from the start": planned(standing, lambda *given: plan(*given, ahead=from_the_start)),
        },
        {"the first fall": planned(by_first_fall, plan), "loops and a covariance": planned(by_loops, by_difference)},
    ),
}
