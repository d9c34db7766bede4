"""The page's bundle, as the build leaves it in the package."""

from __future__ import annotations

from pathlib import Path

STATIC = Path(__file__).parents[1] / "static"


def page_file(name: str) -> str:
    """A file of the page's bundle; raises FileNotFoundError with the command that builds it."""
    path = STATIC / name
    if not path.is_file():
        raise FileNotFoundError(
            f"the page's bundle {name} is not built: run `make setup` in the checkout (or `npm ci && npm run build`), "
            "or install a released wheel"
        )
    return path.read_text(encoding="utf-8")
