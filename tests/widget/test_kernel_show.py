"""The process that plays an environment for the page, each time that another one takes its place."""

from types import SimpleNamespace

from dshq_widget.contract import protocol
from dshq_widget.runtime import supervisor
from dshq_widget.training.trainer import Trainer
from dshq_widget.widget.kernel_show import KernelShow


class Stand:
    """Stands for that process."""

    patience = 100.0

    def send(self, message):
        pass

    def stop(self, timeout=3.0):
        self.patience = timeout


def test_who_changes_the_network_without_end_leaves_few_processes(monkeypatch):
    """Each has an environment and hundreds of MB, and had three seconds to end."""
    begun = []

    def start(*_, **__):
        begun.append(Stand())
        return begun[-1]

    monkeypatch.setattr(supervisor, "supervisor", lambda _: SimpleNamespace(start=start))
    with Trainer("gym:tests.harness.games.gym_worlds:Easy-v0") as trainer:
        show = KernelShow(trainer.drill, {**protocol.SHOW_DEFAULTS, "seed": 0}, lambda: None)
        for size in range(4, 10):
            trainer.set_hyper(hidden_sizes=(size,))
            show.take(trainer.latest_policy(), trainer.config)
            show.begin()
        assert [one.patience for one in begun] == [0.0, 0.0, 0.0, 0.0, 3.0, 100.0]
        show.close()
        assert [one.patience for one in begun[-2:]] == [0.0, 3.0]
