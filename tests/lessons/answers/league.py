# %%
blocks = league.blocks(spring)


def points(blocks):
    total = {}
    for block in blocks:
        total[block.first] = total.get(block.first, 0.0) + block.wins + block.draws / 2
        total[block.second] = total.get(block.second, 0.0) + block.losses + block.draws / 2
    return total


# %%
def ratings(played, made, rounds=4000):
    elo = np.full(len(made), 1000.0)
    for _ in range(rounds):
        ahead = elo[:, None] - elo[None, :]
        expected = (played / (1 + 10 ** (-ahead / 400))).sum(axis=1)
        elo += 400 * (made - expected) / played.sum(axis=1)
        elo += 1000.0 - elo[0]
    return elo
