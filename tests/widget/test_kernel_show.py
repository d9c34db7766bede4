"""The processes that play for the page, each time that another one takes the place of one."""

from types import SimpleNamespace

import pytest

from dshq_widget.contract import protocol
from dshq_widget.runtime import supervisor
from dshq_widget.training.trainer import Trainer
from dshq_widget.widget.kernel_show import KernelShow
from dshq_widget.widget.policy_show import PolicyShow


class Stand:
    """Stands for that process."""

    patience = 100.0

    def send(self, message):
        pass

    def stop(self, timeout=3.0):
        self.patience = timeout


@pytest.fixture
def begun(monkeypatch) -> list[Stand]:
    """Those that were started."""
    found = []

    def start(*_, **__):
        found.append(Stand())
        return found[-1]

    monkeypatch.setattr(supervisor, "supervisor", lambda _: SimpleNamespace(start=start))
    return found


def test_who_changes_the_network_without_end_leaves_few_processes(begun):
    """Each has an environment and hundreds of MB, and had three seconds to end."""
    with Trainer("gym:tests.harness.games.gym_worlds:Easy-v0") as trainer:
        show = KernelShow(trainer.drill, {**protocol.SHOW_DEFAULTS, "seed": 0}, lambda: None)
        for size in range(4, 10):
            trainer.set_hyper(hidden_sizes=(size,))
            show.take(trainer.latest_policy(), trainer.config)
            show.begin()
        assert [one.patience for one in begun] == [0.0, 0.0, 0.0, 0.0, 3.0, 100.0]
        show.close()
        assert [one.patience for one in begun[-2:]] == [0.0, 3.0]


class Shown(Trainer):
    """As if its algorithm's policy were more than a network: each run has another block."""

    block: object = None

    def shown(self):
        return SimpleNamespace(role="none", job={}, block=self.block)


def test_nor_does_who_begins_another_run_without_end_where_a_process_decides(begun):
    """Each has torch and the policy of a run."""
    told: list[object] = []
    with Shown("bandit") as trainer:
        show = PolicyShow(trainer, told.append, told.append)
        for _ in range(6):
            trainer.block = object()
            show.follow()
            show.send({"type": "DECIDE", "start": {}})
        assert [one.patience for one in begun] == [0.0, 0.0, 0.0, 0.0, 3.0, 100.0] and len(told) == 5
        show.close()
        assert [one.patience for one in begun[-2:]] == [0.0, 3.0]
