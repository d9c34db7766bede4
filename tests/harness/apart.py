"""Which process of pytest-xdist runs which tests."""

import contextlib
from pathlib import Path

import pytest
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

TESTS = Path(__file__).parents[1]
BROWSER = TESTS / "browser"
HUBS = TESTS / "classroom" / "test_demo.py"
"""Starts JupyterHubs, as tests of the browser do: their students have the same names, and so their control groups."""


class BrowserApart(LoadScopeScheduling):
    """File by file, in the order in which they were collected; the browser's files and the hubs' are one."""

    def __init__(self, config: pytest.Config, log: object = None):
        super().__init__(config, log)
        config.option.loadscopereorder = False

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.split("::", 1)[0]
        path = TESTS.parent / file
        return "browser" if BROWSER in path.parents or path == HUBS else file

    def _assign_work_unit(self, node: WorkerController) -> None:
        """A process may die before it is sent more work, or not have collected yet: pytest-xdist 3.8 would end all."""
        if node not in self.registered_collections:
            return
        with contextlib.suppress(OSError):
            super()._assign_work_unit(node)

    def remove_node(self, node: WorkerController) -> str | None:
        """A test whose process died has failed and is not tried again: pytest-xdist 3.8 would, eight times."""
        work = self.assigned_work.pop(node)
        died = next((test for tests in work.values() for test, done in tests.items() if not done), None)
        if died is not None:
            work[self._split_scope(died)][died] = True
            self.workqueue.update({scope: tests for scope, tests in work.items() if not all(tests.values())})
            for other in self.nodes:
                self._reschedule(other)
        return died

    def schedule(self) -> None:
        """A process that comes late and gets one test alone begins it only when it knows that no other follows."""
        super().schedule()
        for node in self.nodes:
            self._reschedule(node)
