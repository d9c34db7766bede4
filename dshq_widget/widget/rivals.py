"""Policies that can play the other side of a match: the package's ladder, `.dshq` files and versions of the league."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dshq_widget.contract.game_spec import Game
from dshq_widget.files import atomic
from dshq_widget.policy import checkpoint, ladder
from dshq_widget.training.league_policy import BEST, LEAGUE, version_of
from dshq_widget.widget import page_protocol

MOST_BYTES = 16 << 20
"""Of the policies that were met before the newest and stay: every page gets all of them whenever one is met."""


class Rivals:
    """Policies by name, read when they are first chosen; the champion again whenever it is chosen.

    `known` is sent to the page: each name's policy in the form of the trait `policy`, None until it is loaded, and
    again when so much was loaded since that not all of it can be sent. Any thread may call what is here.
    """

    def __init__(
        self,
        drill: Game,
        scripts_only: bool = False,
        of_league: Callable[[int | None], checkpoint.Checkpoint] | None = None,
    ) -> None:
        """`scripts_only`: no policy can be the opponent. `of_league` gives the policy of a version of the league, of
        None the champion's (`Trainer.league_policy`).
        """
        self._drill, self._scripts_only, self._of_league = drill, scripts_only, of_league
        self._changing, self._one_league = threading.Lock(), threading.Lock()
        self._met: list[str] = []  # whose policies are loaded, the newest last
        rungs = () if scripts_only else ladder.rungs(drill.name)
        self._paths: dict[str, Path] = {rung: ladder.path(drill.name, rung) for rung in rungs}
        self.known: dict[str, dict[str, Any] | None] = dict.fromkeys(self._paths)

    @property
    def opponents(self) -> tuple[str, ...]:
        """Names of all opponents except idle and random."""
        return (*self._drill.spec.baselines, *self.known)

    def named(self, opponent: str | os.PathLike[str]) -> str:
        """The name of an opponent. A `.dshq` file is read and added under its file name. Raises CheckpointError if it
        does not fit the drill, ValueError for a version that the league does not have.
        """
        if not isinstance(opponent, os.PathLike) and not str(opponent).endswith(".dshq"):
            if opponent.startswith(LEAGUE) and opponent not in self.known:
                versions = ", ".join(name for name in self.known if name.startswith(LEAGUE))
                there = (
                    f"choose one of {versions}" if versions else "there is none before the first round of a training"
                )
                raise ValueError(f"opponent: wanted a version of the league, got {opponent!r}: {there}")
            return opponent
        path = atomic.absolute(opponent)
        if self._scripts_only:
            known = ", ".join(("idle", "random", *self.opponents))
            raise checkpoint.CheckpointError(f"the opponent of this policy must be one of {known}, got {path.name!r}")
        policy = self._read(path)
        self._paths[path.stem] = path
        self._keep(path.stem, policy)
        return path.stem

    def offer(self, paths: Iterable[Path]) -> dict[str, dict[str, Any] | None]:
        """Add files under their names, to be read when they are chosen. Returns `known`."""
        new = {} if self._scripts_only else {path.stem: path for path in paths if path.stem not in self._paths}
        if new:
            self._paths |= new
            with self._changing:
                self.known = {**self.known, **dict.fromkeys(new)}
        return self.known

    def offer_league(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """The league's versions, the champion first and then newest first, from the rows of `Trainer.league`. Versions
        that have left it are offered no more.
        """
        learned = sorted((row["version"] for row in rows if not row["pinned"]), reverse=True)
        names = [BEST, *(f"{LEAGUE}v{version}" for version in learned)] if learned and self._of_league else []
        with self._changing:
            others = {name: policy for name, policy in self.known.items() if not name.startswith(LEAGUE)}
            self.known = others | {name: self.known.get(name) for name in names}

    def load(self, name: str) -> None:
        """Load the policy of that name if there is one and it is not loaded yet; of the champion the present one.
        Raises CheckpointError. While training it may take a moment, until the learner has written its league.
        """
        if name.startswith(LEAGUE):
            with self._one_league:  # each reads a file of the whole run
                if name == BEST or self.known.get(name) is None:
                    assert self._of_league is not None
                    self._keep(name, page_protocol.policy(self._of_league(version_of(name))))
        if name in self._paths and self.known[name] is None:
            self._keep(name, self._read(self._paths[name]))

    def _keep(self, name: str, policy: dict[str, Any]) -> None:
        with self._changing:
            known = {**self.known, name: policy}
            self._met = [*(one for one in self._met if one != name and known.get(one)), name]
            room = MOST_BYTES
            for one in reversed(self._met[:-1]):
                room -= len((known[one] or {})["data"])
                if room < 0:  # whoever chooses it again has it read again
                    known[one] = None
            self.known = known

    def _read(self, path: Path) -> dict[str, Any]:
        saved = checkpoint.load(path)
        checkpoint.check_whole(saved)
        spec = self._drill.spec
        if (saved.layers[0], saved.layers[-1]) != (spec.n_obs, spec.n_actions + 1):
            raise checkpoint.CheckpointError(
                f"{str(path)!r} plays {saved.drill!r}, not {self._drill.name!r}: choose a file of the same drill"
            )
        return page_protocol.policy(saved)
