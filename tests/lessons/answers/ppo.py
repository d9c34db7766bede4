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
# %%
import torch


def policy_loss(log_prob, old_log_prob, advantage, clip):
    """Minus the mean of the smaller of the two: ratio times advantage, and clipped ratio times advantage."""
    ratio = (log_prob - old_log_prob).exp()
    clipped = ratio.clamp(1 - clip, 1 + clip)
    return -torch.minimum(ratio * advantage, clipped * advantage).mean()
# %%
def value_loss(value, returns):
    """How far the values are from what followed: the mean square."""
    return (value - returns).square().mean()


def entropy(log_probs):
    """The mean entropy in nats of log-probabilities `[samples, actions]`."""
    return -(log_probs.exp() * log_probs).sum(-1).mean()
# %%
def loss_of(net, obs, action, old_log_prob, advantage, returns, clip=CLIP):
    """The loss of a network on samples of a rollout: one number, with its slopes."""
    log_probs, value = think(net, obs)
    chosen = log_probs.gather(1, action[:, None])[:, 0]
    policy = policy_loss(chosen, old_log_prob, advantage, clip)
    return policy + VALUE * value_loss(value, returns) - ENTROPY * entropy(log_probs)
