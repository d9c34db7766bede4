"""What a run on a Ray cluster needs, checked before any process starts. No ray is imported here."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
from collections.abc import Mapping
from pathlib import Path

from dshq_widget.contract.game_spec import Game
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.drill.compiled import CompiledDrill

OLDEST = (2, 52)
"""The first version of Ray with token authentication."""
INSTALL = 'pip install "dshq-widget[ray]"'
GUIDE = "see docs/howto/ray.md"


def check(drill: Game, config: TrainConfig, environ: Mapping[str, str] = os.environ) -> None:
    """Raises RuntimeError with one sentence for a run that cannot be on Ray, for a missing or old Ray, and for a
    missing token. `drill` is a CompiledDrill or an Environment.
    """
    _check_run(drill, config)
    _check_ray()
    _check_token(environ)


def _check_run(drill: Game, config: TrainConfig) -> None:
    if not isinstance(drill, CompiledDrill):
        raise RuntimeError(f"engine=ray plays drills only, and {drill.name} is an environment: leave out engine=ray")
    for key, why in (
        ("joint", "processes of torchrun play their own games"),
        ("deterministic", "no run on a cluster can be repeated exactly"),
    ):
        if getattr(config, key):
            raise RuntimeError(f"engine=ray cannot be used with {key}={getattr(config, key)}: {why}; leave out one")


def _check_ray() -> None:
    if importlib.util.find_spec("ray") is None:
        raise RuntimeError(f"engine=ray needs Ray, which is not installed: {INSTALL}")
    found = importlib.metadata.version("ray")
    if tuple(int(part) for part in re.findall(r"\d+", found)[:2]) < OLDEST:
        wanted = ".".join(map(str, OLDEST))
        raise RuntimeError(f"engine=ray needs Ray {wanted} or newer, got {found}, which has no tokens: {INSTALL}")


def _check_token(environ: Mapping[str, str]) -> None:
    mode = environ.get("RAY_AUTH_MODE", "token")
    if mode != "token":
        raise RuntimeError(
            f"engine=ray needs a cluster with token authentication, got RAY_AUTH_MODE={mode}: set RAY_AUTH_MODE=token "
            f"here and on every node ({GUIDE})"
        )
    if environ.get("RAY_AUTH_TOKEN"):
        return
    named = environ.get("RAY_AUTH_TOKEN_PATH")
    file = Path(named) if named else Path(os.path.expanduser(environ.get("HOME", "~"))) / ".ray" / "auth_token"
    try:
        token = file.read_text(encoding="utf-8").strip()
    except OSError:
        token = ""
    if not token:
        raise RuntimeError(
            f"engine=ray needs a token, and there is none in RAY_AUTH_TOKEN or in the file {str(file)!r}: make one "
            f"with `ray get-auth-token --generate`, and put the same one on every node ({GUIDE})"
        )
