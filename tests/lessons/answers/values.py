# %%
def returns(rewards, gamma):
    """The return at each step of one episode, in the shape of `rewards`."""
    found, following = np.zeros(len(rewards)), 0.0
    for t in reversed(range(len(rewards))):
        following = rewards[t] + gamma * following
        found[t] = following
    return found
# %%
def td_update(values, cell, reward, beyond, alpha, gamma):
    """Change `values[cell]` after one step from `cell` to `beyond`; gives the TD error."""
    error = reward + gamma * values[beyond] - values[cell]
    values[cell] = values[cell] + alpha * error
    return error
# %%
def bellman(values, after, target, gamma):
    """The right side of the Bellman equation for each cell, `[cells]`; 0 at the target."""
    paid = (after == target).astype(float)  # [cells, 4]
    new = (paid + gamma * values[after]).mean(axis=1)
    new[target] = 0.0
    return new
# %%
def best_ways(values, after, target, gamma):
    """For each cell the way, 0 to 3, after which the most is to be expected; `[cells]`."""
    paid = (after == target).astype(float)
    return (paid + gamma * values[after]).argmax(axis=1)
