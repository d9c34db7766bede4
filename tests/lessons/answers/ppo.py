# %%
def gae(rewards, values, next_values, over, gamma, gae_lambda):
    """How much better than expected each decision turned out, in the shape of `rewards`."""
    advantages = np.zeros_like(rewards)
    carry = 0.0 * rewards[0]
    for t in reversed(range(len(rewards))):
        surprise = rewards[t] + gamma * next_values[t] - values[t]
        carry = surprise + gamma * gae_lambda * carry * ~over[t]
        advantages[t] = carry
    return advantages
