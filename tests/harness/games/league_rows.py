"""A league's table as a learner reports it, without the matches."""

from typing import Any


def player(name: str, elo: float, **more: Any) -> dict[str, Any]:
    return {"name": name, "elo": elo, "elo_low": elo - 30, "elo_high": elo + 30, "pinned": True, "against": {}, **more}


def table(snapshots: int, champion: int) -> list[dict[str, Any]]:
    """Random, the chaser, and snapshots that get weaker with their version: the newest are the weakest."""
    names = [f"v{7 * k}" for k in range(snapshots)]
    met = {name: [16.0, 32] for name in ["random", "chaser", *names]}
    rows = [player("random", 1000.0), player("chaser", 1400.0)]
    for k, name in enumerate(names):
        extra = {
            "version": 7 * k,
            "step": 1000 * k,
            "champion": k == champion,
            "share": 0.5,
            "win_rate": 0.5,
            "hyper": {},
        }
        rows.append(player(name, 1900.0 - 5 * k, pinned=False, against=met, **extra))
    return sorted(rows, key=lambda row: -row["elo"])
