"""Lock-step runs, and whether two of them are the same."""

from pathlib import Path

GAMES, LENGTH = 64, 8
PACE = GAMES * LENGTH * 2 * 35
"""About 40 updates a second: slow enough to see nearly every version."""
SMALL = {
    "num_envs": GAMES,
    "rollout_length": LENGTH,
    "minibatch_size": 256,
    "hidden_sizes": (16,),
    "total_agent_steps": 100_000,
    "pace": PACE,
}

LOCKSTEP = str(Path(__file__).with_name("lockstep.py"))


def assert_same(one: dict[int, str], other: dict[int, str], beyond: int) -> None:
    """Equal where both were seen, and both were seen often enough, also after version `beyond`."""
    both = sorted(one.keys() & other.keys())
    assert len(both) >= 5 and both[-1] > beyond, (sorted(one), sorted(other))
    differing = [version for version in both if one[version] != other[version]]
    assert differing == [], f"first at version {differing[0]} of {both}"
