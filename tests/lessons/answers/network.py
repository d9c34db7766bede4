# %%
def loss(weights, x, y):
    """The mean square of what the line says less what was measured; `weights` is the array [w, b]."""
    w, b = weights
    return np.mean((w * x + b - y) ** 2)


# %%
def slopes(function, weights, size=1e-4):
    """The slope of `function` in each weight, measured by nudging; the shape of `weights`."""
    found = np.zeros(weights.shape)
    for place in np.ndindex(weights.shape):
        up, down = weights.copy(), weights.copy()
        up[place] += size
        down[place] -= size
        found[place] = (function(up) - function(down)) / (2 * size)
    return found


# %%
def descend(function, weights, rate, steps):
    """The weights after `steps` steps against the slopes; the weights that were given stay as they are."""
    for _ in range(steps):
        weights = weights - rate * slopes(function, weights)
    return weights


# %%
def network(weights, x):
    """What a network says at each place `x` `[n]`; `weights` is `[units, 3]`, with w, b and v of each unit in a row."""
    w, b, v = weights.T
    return np.tanh(np.outer(x, w) + b) @ v
