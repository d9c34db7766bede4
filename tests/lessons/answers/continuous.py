# %%
def log_density(u, mean, deviation):
    """The logarithm of the Gaussian's density at the actions `u`, in their shape."""
    return -0.5 * ((u - mean) / deviation) ** 2 - np.log(deviation) - 0.5 * np.log(2 * np.pi)


# %%
def slopes(u, mean, log_deviation):
    """The slopes of the log-density in the mean and in the logarithm of the deviation: two arrays in the shape of `u`."""
    far = (u - mean) / np.exp(log_deviation)
    return far / np.exp(log_deviation), far**2 - 1


# %%
def beta_log_density(u, alpha, beta, low, high):
    """The logarithm of the density of a stretched beta distribution at the actions `u`, strictly between the bounds."""
    x = (u - low) / (high - low)
    constant = lgamma(alpha) + lgamma(beta) - lgamma(alpha + beta)
    return (alpha - 1) * np.log(x) + (beta - 1) * np.log(1 - x) - constant - np.log(high - low)
