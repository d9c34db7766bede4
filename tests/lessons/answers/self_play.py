# %%
def expected(rating, other):
    """Points per match that a player should make against another: a win is 1, a draw 1/2."""
    return 1 / (1 + 10 ** ((other - rating) / 400))


def update(rating, other, points, k=32):
    """The rating after one match."""
    return rating + k * (points - expected(rating, other))
