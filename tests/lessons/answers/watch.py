# %%
def good_since(times, values, level):
    """The first time from which on every value is above the level; None where the last one is not."""
    since = None
    for time, value in zip(reversed(times), reversed(values)):
        if value <= level:
            return since
        since = time
    return since
