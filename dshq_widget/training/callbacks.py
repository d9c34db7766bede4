"""What a user is called for: changes, warnings, new metrics and new evaluations. A trainer's calls of them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from dshq_widget.contract.metrics import metric_named
from dshq_widget.training.readings import Readings

Metrics = dict[str, float | int]

log = logging.getLogger("dshq_widget")


def counts_update(name: str) -> bool:
    """Whether this metric changes with every report of new updates."""
    return name == "updates"


def is_evaluated(name: str) -> bool:
    """Whether this metric says how good the policy is: category EVALUATOR."""
    known = metric_named(name)
    return known is not None and known.category == "EVALUATOR"


class NewMetrics:
    """Calls `function(metrics)` if a metric whose name passes `watched` has changed since the last call. An exception
    goes to the log with its traceback, and to `warn` as one sentence beginning with `name`, once for each sentence.
    """

    def __init__(
        self,
        function: Callable[[Metrics], Any],
        name: str,
        watched: Callable[[str], bool],
        read: Callable[[], Metrics],
        warn: Callable[[str], None],
    ) -> None:
        self.function, self._name, self._watched, self._read, self._warn = function, name, watched, read, warn
        self._seen = self._chosen(read())
        self._said: set[str] = set()
        self.reported: tuple[type[BaseException], ...] = (Exception, SystemExit)
        """Exceptions that become a warning."""

    def __call__(self) -> Any:
        """What the function returned; None if nothing is new or it failed."""
        metrics = self._read()
        chosen = self._chosen(metrics)
        if chosen == self._seen:
            return None
        self._seen = chosen
        if not chosen:  # everything was forgotten
            return None
        try:
            return self.function(metrics)
        except self.reported as error:
            said = " ".join(str(error).split())
            sentence = f"{self._name} failed: {type(error).__name__}: {said}; training is not affected"
            if sentence not in self._said:
                self._said.add(sentence)
                log.exception("%s failed", self._name)
                self._warn(sentence)
            return None

    def _chosen(self, metrics: Metrics) -> Metrics:
        return {name: value for name, value in metrics.items() if self._watched(name)}


class Callbacks(Readings):
    """Each `on_` method but `on_warning` calls on one thread of the trainer's own, so a callback may call anything, and
    a slow one does not slow training. It never runs on the thread that trains, nor on the one that subscribed.
    """

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call `listener`, on a thread of its own, after something readable has changed. It may call anything; several
        changes may be one call, and what the listener changes itself reaches the others only.
        """
        self._run.listeners.add(listener)

    def on_warning(self, listener: Callable[[str], None]) -> None:
        """Call `listener`, from any thread, with the text of each warning. It must return at once."""
        self._run.status.listen(listener)

    def on_update(self, callback: Callable[[Metrics], Any]) -> Callable[[], None]:
        """Call `callback(metrics)` when the learner has reported new updates: about twice a second, and once more when
        the run ends. One report covers all updates since the last one; reports that come while the callback runs are
        one call. The last call may come shortly after `train_for` has returned. `metrics` are those of
        `Trainer.metrics`. Returns a function that ends the calls.

        An exception becomes a warning, with its traceback in the log; training and later calls continue.
        """
        return self._subscribe(callback, counts_update)

    def on_evaluate(self, callback: Callable[[Metrics], Any]) -> Callable[[], None]:
        """The same after each evaluation: when a metric of the category EVALUATOR has changed."""
        return self._subscribe(callback, is_evaluated)

    def _subscribe(self, callback: Callable[[Metrics], Any], watched: Callable[[str], bool]) -> Callable[[], None]:
        listener = self._new_metrics(callback, f"the callback {_named(callback)}", watched)
        self._run.listeners.add(listener)
        return lambda: self._run.listeners.remove(listener)

    def _condition(self, function: Callable[[Metrics], Any], name: str) -> NewMetrics:
        """A question that is asked once for each report, and answered by a bool; None where nothing is new."""
        asked = self._new_metrics(function, name, counts_update)
        asked.function = lambda metrics: bool(function(metrics))
        asked.reported = (Exception,)  # it is asked on the caller's thread, which `sys.exit` is to end
        return asked

    def _new_metrics(self, function: Callable[[Metrics], Any], name: str, watched: Callable[[str], bool]) -> NewMetrics:
        if not callable(function):
            raise TypeError(f"{name} must be a function of the metrics, got {function!r:.60}")
        return NewMetrics(function, name, watched, lambda: self.metrics, self._warned)

    def _warned(self, sentence: str) -> None:
        with self._run.uninterrupted() as changed:
            self._run.status.warn(sentence)
            changed()


def _named(function: Any) -> str:
    """A function's name for a sentence."""
    return getattr(function, "__qualname__", None) or type(function).__qualname__
