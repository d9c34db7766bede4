# %%
def payments(phi, gamma):
    """What each decision of a round pays: (decisions,)."""
    phi = np.asarray(phi)
    return gamma * phi[1:] - phi[:-1]
