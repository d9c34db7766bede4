# %%
def flops(layers):
    """Multiplications and additions of one forward pass."""
    return sum(2 * n_in * n_out for n_in, n_out in zip(layers, layers[1:]))


def floor(flops, moved, peak, bandwidth):
    """Seconds that this takes at least, and what binds: "arithmetic" or "memory"."""
    calculating, moving = flops / peak, moved / bandwidth
    return max(calculating, moving), "arithmetic" if calculating >= moving else "memory"
