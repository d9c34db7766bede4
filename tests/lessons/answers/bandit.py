# %%
def estimate(values, counts, arm, reward):
    """Count one more play of `arm`, and move its value to the mean of all that it paid. Both arrays are changed."""
    counts[arm] += 1
    values[arm] += (reward - values[arm]) / counts[arm]
# %%
def choose(values, epsilon, chance):
    """An arm: any one with probability `epsilon`, else the one with the largest value."""
    if chance.random() < epsilon:
        return int(chance.integers(len(values)))
    return int(np.argmax(values))
# %%
def regret(chosen, chances):
    """What was given away up to each play, in the shape of `chosen`: the arms that were taken."""
    return np.cumsum(chances.max() - chances[chosen])
# %%
def bounds(values, counts, t, c):
    """How good each arm might still be, in the shape of `values`; infinite where `counts` is 0."""
    tried = np.maximum(counts, 1)
    return np.where(counts > 0, values + c * np.sqrt(np.log(t) / tried), np.inf)
