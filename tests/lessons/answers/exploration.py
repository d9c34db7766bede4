# %%
def choose(values, epsilon, rng):
    """An action: with probability epsilon any one, else the one with the largest value; of equals any."""
    if rng.random() < epsilon:
        return int(rng.integers(len(values)))
    return int(rng.choice(np.flatnonzero(values == values.max())))


# %%
def bonus(counts, size):
    """What is promised more for each action, given how often each was tried; `size` for one never tried."""
    return size / (counts + 1)


def promise(paid, values, counts, size, gamma, over):
    """What a move was worth: its pay, and gamma of the best value plus bonus of the next room; nothing follows the end."""
    return paid if over else paid + gamma * np.max(values + bonus(counts, size))


# %%
def entropy(p):
    """H in nats of probabilities p; where a probability is 0, it adds nothing."""
    return -np.sum(p * np.log(np.maximum(p, 1e-300)))


def stepped(scores, action, paid, coefficient, rate=1.0):
    """Scores after one step: rate * (paid * slope of log pi(action) + coefficient * slope of the entropy)."""
    p = np.exp(scores - scores.max())
    p = p / p.sum()
    of_policy = -p
    of_policy[action] += 1
    of_entropy = -p * (np.log(np.maximum(p, 1e-300)) + entropy(p))
    return scores + rate * (paid * of_policy + coefficient * of_entropy)
