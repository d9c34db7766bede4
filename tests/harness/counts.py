"""How often a test repeats itself: fewer times in `make test` than in `make test-all`, with the same assertions."""

_fewer = False


def go_easy(fewer: bool) -> None:
    """Said once, before tests are collected: whether slow ones are left out."""
    global _fewer
    _fewer = fewer


def times(many: int, few: int) -> int:
    """`few` where slow tests are left out, else `many`."""
    return few if _fewer else many
