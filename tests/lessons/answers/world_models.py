# %%
def inputs(seen, actions):
    """What goes into the model, (n, 6): four observations, the push as -1 (left) or +1 (right), and 1."""
    return np.column_stack([seen, 2 * np.asarray(actions) - 1, np.ones(len(seen))])


def fit(seen, actions, after):
    """The model (6, 4) with the least squared error: inputs @ model is close to what came after."""
    return np.linalg.lstsq(inputs(seen, actions), after, rcond=None)[0]


# %%
def dream(model, start, plans):
    """What each plan would lead to: (decisions, futures, 4) from start (4,) and plans (futures, decisions)."""
    now = np.repeat(start[None], len(plans), axis=0)
    path = []
    for actions in plans.T:
        now = inputs(now, actions) @ model
        path.append(now)
    return np.array(path)


# %%
def standing(path):
    """Decisions until the pole falls, (futures,), in dreams (decisions, futures, 4): all of them if it stands."""
    up = (np.abs(path[:, :, 0]) < FALLEN) & (np.abs(path[:, :, 2]) < FALLEN)
    return np.cumprod(up, axis=0).sum(axis=0)


def plan(model, observed, rng, futures=64, decisions=20):
    """The first push, 0 or 1, whose dreams stand longer on average."""
    plans = rng.integers(2, size=(futures, decisions))
    stands = standing(dream(model, observed, plans))
    means = []
    for push in (0, 1):
        chosen = stands[plans[:, 0] == push]
        means.append(chosen.mean() if len(chosen) else -1)
    return int(np.argmax(means))
