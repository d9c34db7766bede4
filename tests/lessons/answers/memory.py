# %%
def stacked(seen, n):
    """The last n observations at each decision: seen [decisions, numbers] -> [decisions, n * numbers]."""
    padded = np.concatenate([np.zeros((n - 1, seen.shape[1])), seen])
    return np.concatenate([padded[k : k + len(seen)] for k in range(n)], axis=1)


# %%
def cell(weights, kept, seen):
    """The memory after one decision, [n], from `kept` [n] before it and what is seen, [n, 2], in n games at once."""
    x = np.column_stack([seen, np.ones(len(seen))])
    keep, write = weights
    return kept / (1 + np.exp(-x @ keep)) + np.tanh(x @ write)


# %%
def design():
    """Weights [2, 3]: how much is kept, and what is written, by lamp, gong and 1."""
    keep = [0.0, 0.0, 5.0]
    write = [2.0, 0.0, 0.0]
    return np.array([keep, write])
