# %%
def band(a, b, draws=10_000):
    """Low and high end of the 95 % bootstrap band of mean(b) - mean(a)."""
    rng = np.random.default_rng(0)
    ahead = rng.choice(b, (draws, len(b))).mean(axis=1) - rng.choice(a, (draws, len(a))).mean(axis=1)
    return np.quantile(ahead, [0.025, 0.975])


# %%
holds = {"a": True, "b": False, "c": True, "d": False, "e": False, "f": False}
