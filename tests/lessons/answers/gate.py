# %%
def survival(chunk, protectors):
    """Probability that a parasite in this chunk is not caught: 0 to 1."""
    lives = 1.0
    for protector in protectors:
        d = distance(chunk, protector)
        if protector < 0 or d >= 8:
            continue
        lives *= 0.0 if d < 2 else 1 - np.exp(-(d - 2) / 2)
    return lives


# %%
def expected(parts, survival_weight=0.4, disruption_weight=0.5, location_weight=0.1):
    """The expected reward of proposals; `parts` has an array for each of the names, all of the same shape."""
    reward = survival_weight * parts["survival"] + disruption_weight * parts["disruption"]
    return reward + location_weight * parts["location"] + parts["exploration"]


def signal(reward, capacity, threshold=0.6):
    """The gate signal of expected rewards: minus the threshold, from -1 to 1; -1 where capacity is 0."""
    return np.where(capacity > 0, np.clip(reward - threshold, -1, 1), -1.0)


# %%
def training_rewards(signals, actual, sent, gate_weight=0.3, actual_weight=0.7):
    """What each proposal is paid in training, (n,): signals (n,), actual (n,) with nan where unknown, sent (n,) bool."""
    known = sent & ~np.isnan(actual)
    return np.where(known, gate_weight * signals + actual_weight * actual, signals)


def stepped(scores, chunks, advantages, rate):
    """Scores of all chunks after one step of the policy gradient: the mean over proposals of A * slope of log pi."""
    p = np.exp(scores - scores.max())
    p = p / p.sum()
    slope = np.zeros(len(scores))
    for chunk, advantage in zip(chunks, advantages):
        slope[chunk] += advantage
        slope -= advantage * p
    return scores + rate * slope / len(chunks)
