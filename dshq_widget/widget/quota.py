"""A student's quota on a shared server: remaining training time, the previous run, and the league.

Environment variables set which of these apply; by default none do.

    DSHQ_TRAINING_MINUTES   minutes after which training stops by itself, 0 for never; 30 on a JupyterHub
    DSHQ_RUNS_DIR           folder in which runs outlive their kernel; on a JupyterHub one in the home folder
    DSHQ_LEAGUE_URL         the class league; DSHQ_LEAGUE_TOKEN the token for it; the server's own is never sent
"""

from __future__ import annotations

import dataclasses
import logging
import math
import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dshq_widget.files import atomic
from dshq_widget.gyms.environment import Environment
from dshq_widget.policy import checkpoint
from dshq_widget.runtime.shortage import shortage
from dshq_widget.runtime.words import reason_of
from dshq_widget.training import saved_runs
from dshq_widget.training.status import RUNNING
from dshq_widget.training.trainer import Trainer
from dshq_widget.widget.plugins import plugin

HUB_VARIABLE, HUB_MINUTES, HUB_RUNS = "JUPYTERHUB_USER", "30", "~/.local/share/dshq/runs"
"""JupyterHub sets this variable to the student's name; the defaults on a JupyterHub."""
AUTOSAVE_SECONDS = 20.0
"""Interval of autosaves: a killed kernel loses at most this much training."""
LOOK_SECONDS = 5.0
"""How often memory is checked while training runs."""

log = logging.getLogger("dshq_widget")


@dataclasses.dataclass(frozen=True)
class Rules:
    """The server's rules, from environment variables."""

    minutes: float = 0.0
    """Minutes of training until it stops; 0 is no limit."""
    runs: Path | None = None
    league: str = ""
    """Address of the class league, "" for none."""
    token: str = dataclasses.field(default="", repr=False)

    @property
    def elsewhere(self) -> Rules:
        """The same for training that takes none of the server's processors: without a limit."""
        return dataclasses.replace(self, minutes=0.0)

    @classmethod
    def of(cls, environ: Mapping[str, str] = os.environ) -> Rules:
        """Read the rules; raises ValueError for invalid minutes."""
        hub = HUB_VARIABLE in environ
        text = environ.get("DSHQ_TRAINING_MINUTES") or (HUB_MINUTES if hub else "0")
        try:
            minutes = float(text)
        except ValueError:
            minutes = math.nan
        if not 0 <= minutes < math.inf:
            raise ValueError(
                f"DSHQ_TRAINING_MINUTES must be a number of minutes such as 30, or 0 for no limit, got {text!r:.40}"
            )
        folder = environ.get("DSHQ_RUNS_DIR") or (HUB_RUNS if hub else "")
        return cls(
            minutes,
            atomic.absolute(folder) if folder else None,
            environ.get("DSHQ_LEAGUE_URL", ""),
            environ.get("DSHQ_LEAGUE_TOKEN", ""),
        )


class Quota:
    """Applies the `rules` to one trainer; `say` shows the student a sentence and may be called from any thread.

    `follow` is called about ten times a second while training runs, by one thread, and never waits.
    """

    def __init__(self, trainer: Trainer, rules: Rules, say: Callable[[str], None]) -> None:
        self._trainer, self._rules, self._say = trainer, rules, say
        self._left = 60 * rules.minutes
        self._counted: float | None = None
        self._status = ""
        self._saved, self._looked = 0.0, -math.inf
        self._short = ""
        self._sent = {"state": "", "text": ""}
        self._earlier: saved_runs.Earlier | None = None
        self.look_back()

    def look_back(self) -> None:
        """Find the run that can be resumed."""
        runs, trainer = self._rules.runs, self._trainer
        if runs is None:
            return
        spec = trainer.drill.spec
        try:
            self._earlier = saved_runs.earlier(runs, trainer.drill.name, spec.rules_hash, trainer.algorithm)
        except OSError as error:
            log.warning("earlier runs in %s cannot be read: %s", runs, error)

    def trait(self) -> dict[str, Any]:
        """The trait `seat` of the page: `minutes` and the seconds `left` of them (0, 0: no limit), `earlier` {saved_at,
        version, step} or None, whether there is a `league`, and `sent` {state, text}, state "", sending, sent or
        failed. Empty on a server without rules.
        """
        if self._rules == Rules(token=self._rules.token):
            return {}
        begun = self._trainer.status in RUNNING or self._trainer.latest_policy().trained
        offered = None if begun else self._earlier
        return {
            "minutes": self._rules.minutes,
            "left": max(0, math.ceil(self._left)),
            "earlier": offered and {key: getattr(offered, key) for key in ("saved_at", "version", "step")},
            "league": bool(self._rules.league),
            "sent": self._sent,
        }

    def follow(self, now: float) -> None:
        """Count the training time until `now` (s, of a monotonic clock); stop at the limit, autosave and warn."""
        before, self._status = self._status, self._trainer.status
        starting = self._status == "starting" and before != "starting"
        if starting and self._left <= 0:
            self._left = 60 * self._rules.minutes
        counting = self._status == "training" and not self._trainer.paused
        if counting and self._counted is not None:
            self._left -= now - self._counted
        elif counting:
            self._saved = now
        self._counted = now if counting else None
        if counting and self._rules.minutes and self._left <= 0:
            self._trainer.stop()
            more = f"{self._rules.minutes:g}"
            self._say(
                f"The {more} minutes of training are used up and the policy is saved. Press Train for {more} more "
                "minutes."
            )
        if counting and self._rules.runs is not None and now - self._saved >= AUTOSAVE_SECONDS:
            self._trainer.autosave()
            self._saved = now
        if starting or (self._status in RUNNING and now - self._looked >= LOOK_SECONDS):
            self._looked = now
            self._look(starting)

    def _look(self, starting: bool) -> None:
        sentence = shortage(starting=starting, environment=isinstance(self._trainer.drill, Environment))
        what = sentence.partition(":")[0]
        if what and what != self._short:
            self._say(sentence)
        self._short = what

    def extend(self, minutes: float | None = None) -> None:
        """Extend the training time by `minutes`, by default the server's limit; raises ValueError for a negative
        number.
        """
        more = self._rules.minutes if minutes is None else minutes
        if not 0 <= more <= 24 * 60:
            raise ValueError(f"minutes must be from 0 to 1440, got {minutes!r:.40}")
        self._left = max(0.0, self._left) + 60 * more

    def resume_run(self) -> None:
        """Continue the previous run with its policy, settings and optimiser. Raises RuntimeError if there is none,
        CheckpointError if it cannot be used.
        """
        if self._earlier is None:
            raise RuntimeError("there is no saved run of this drill to continue")
        self._trainer.resume_from(self._earlier.path)
        self._trainer.start()

    def submit(self) -> dict[str, Any]:
        """Send the newest policy to the class league and return its answer. Raises LeagueError, or RuntimeError if
        there is no league or no trained policy.
        """
        if not self._rules.league:
            raise RuntimeError("no class league is configured: set DSHQ_LEAGUE_URL, or use `dshq submit`")
        if not self._trainer.latest_policy().trained:
            raise RuntimeError("there is no trained policy yet: train first, then submit")
        try:
            send = plugin("submit")
        except ImportError as error:
            raise RuntimeError("submitting to a league needs an extra: pip install 'dshq-widget[classroom]'") from error
        saved = checkpoint.parse(self._trainer.policy_file(), "the policy")
        return {"version": saved.version, **send(saved, self._rules.league, self._rules.token)}

    def submit_beside(self, done: Callable[[], None]) -> None:
        """Submit on a separate thread; the trait's `sent` shows progress, and `done` is called when it changes."""
        if self._sent["state"] != "sending":
            self._report(done, "sending", "")
            try:
                threading.Thread(target=self._submit, args=(done,), name="dshq-submit", daemon=True).start()
            except RuntimeError as error:
                self._report(done, "failed", str(error))

    def _submit(self, done: Callable[[], None]) -> None:
        try:
            answer = self.submit()
        except Exception as error:  # also what http.client raises: a button that says "sending" needs an end
            self._report(done, "failed", reason_of(error))
        else:
            self._report(done, "sent", f"version {answer['version']} plays in {answer['title']!r}")

    def _report(self, done: Callable[[], None], state: str, text: str) -> None:
        self._sent = {"state": state, "text": text}
        done()
