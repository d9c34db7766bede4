# %%
def futures(kept, state, plans, keys):
    """What each plan is paid in all: (futures,). `keys` (futures,) are for the dice of the copies."""
    total = np.zeros(len(plans))
    ids = kept.branch(np.full(len(plans), state), keys)
    for actions in plans.T:
        made = kept.simulate_batch(ids, actions[:, None])
        kept.release_batch(ids)
        ids = made.state_ids
        total += made.rewards[:, 0]
    kept.release_batch(ids)
    return total


# %%
def weights(gains, temperature):
    """A share for each future, (futures,), that adds up to 1: the better its gain, the larger."""
    powers = np.exp((gains - gains.max()) / temperature)
    return powers / powers.sum()


def effective(shares):
    """How many futures really count: from 1 to their number."""
    return 1 / np.sum(shares**2)


# %%
def resampled(kept, ids, first, gains, temperature, rng):
    """New ids, and their first actions: as many copies as before, drawn by their weights. The old ids are released."""
    parents = rng.choice(len(ids), len(ids), p=weights(gains, temperature))
    new = kept.branch(ids[parents], rng.integers(1 << 32, size=len(ids)))
    kept.release_batch(ids)
    return new, first[parents]
