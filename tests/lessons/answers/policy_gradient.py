# %%
def softmax(scores):
    """Probabilities of the actions, in the shape of `scores`; along the last axis they add up to 1."""
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)
# %%
def log_slope(scores, action):
    """The slope of the logarithm of the action's probability in each score; the shape of `scores`, `[actions]`."""
    slope = -softmax(scores)
    slope[action] += 1.0
    return slope
# %%
def policy_gradient(scores, actions, rewards, baseline):
    """The mean of the slopes of what was played, each weighed by its reward less the baseline; `[actions]`."""
    slopes = np.array([log_slope(scores, action) for action in actions])
    return np.mean((rewards - baseline)[:, None] * slopes, axis=0)
# %%
def seeing_gradient(weights, seen, actions, rewards, baseline):
    """The policy gradient in the weights `[numbers, actions]`; `seen` is `[games, numbers]`."""
    played = np.eye(weights.shape[1])[actions]  # a row for each game: 1 for what was played
    arrows = (played - softmax(seen @ weights)) * (rewards - baseline)[:, None]
    return seen.T @ arrows / len(seen)
