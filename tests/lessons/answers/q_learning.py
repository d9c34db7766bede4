# %%
def q_update(values, cell, action, paid, after, over, alpha, gamma):
    """Correct `values[cell, action]` in place after one move; nothing follows a move that is `over`."""
    promised = 0.0 if over else gamma * values[after].max()
    values[cell, action] += alpha * (paid + promised - values[cell, action])


# %%
class Replay:
    """The newest `capacity` rows of `numbers` numbers each."""

    def __init__(self, capacity, numbers):
        self.rows = np.zeros((capacity, numbers))
        self.added = 0  # rows that were ever added

    def add(self, rows):
        """Keep these rows, [n, numbers]; they overwrite the oldest where there is no room."""
        self.rows[(self.added + np.arange(len(rows))) % len(self.rows)] = rows
        self.added += len(rows)

    def draw(self, n, rng):
        """n rows, drawn at random from those that are there; the same row may come twice."""
        return self.rows[rng.integers(min(self.added, len(self.rows)), size=n)]


# %%
def targets(frozen, paid, after, over, gamma):
    """What the value of each decision should be, [n]."""
    return paid + gamma * (1 - over) * frozen.values(after).max(1)


# %%
def off(net, frozen, rows, gamma):
    """The mean square of what the values of the decisions in `rows` are off from their targets: one number."""
    seen, actions, paid, after, over = rows[:, :4], rows[:, 4].astype(int), rows[:, 5], rows[:, 6:10], rows[:, 10]
    said = np.take_along_axis(net.values(seen), actions[:, None], axis=1)[:, 0]
    wanted = targets(frozen, paid, after, over, gamma)
    return np.mean((wanted - said) ** 2)
