"""What a person does with the package, on a system without POSIX (`windows/sitecustomize.py`)."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

from dshq_widget import DrillWidget, Trainer
from dshq_widget.cli import main
from dshq_widget.system import form
from dshq_widget.widget.in_page import parts
from tests.harness.processes.faults import SMALL


def watch(folder: Path) -> None:
    with DrillWidget("bandit") as widget:
        assert widget.drill["spec"]["name"] == "bandit"
        assert widget._repr_mimebundle_()


def train(folder: Path) -> None:
    with Trainer("bandit", **{**SMALL, "workers": 1}) as trainer:
        trainer.start()
        assert trainer.wait(updates=3, progress=False), trainer.status
        trainer.stop()
        assert trainer.join(60)
        (folder / "bandit.dshq").write_bytes(trainer.policy_file())


def train_in_the_page(folder: Path) -> None:
    sent: list[dict] = []
    with DrillWidget("bandit", engine="page", policy=folder / "bandit.dshq") as widget:
        assert widget.config["engine"] == "page"
        parts.answer(widget._trainer, True, SimpleNamespace(refusal=lambda *_: "", answer=sent.append))
    (message,) = sent
    assert message["problem"] == "" and len(message["buffers"]) == 4


def export(folder: Path) -> None:
    with DrillWidget("bandit", policy=folder / "bandit.dshq") as widget:
        widget.export_html(folder / "bandit.html")
    assert b"</html>" in (folder / "bandit.html").read_bytes()


def evaluate(folder: Path) -> None:
    assert main.main(["evaluate", str(folder / "bandit.dshq"), "--matches", "64", "--json"]) == 0


def doctor(folder: Path) -> None:
    assert main.main(["doctor", "--json"]) == 0


def run() -> None:
    folder = Path(sys.argv[1])
    assert sys.platform == "win32" and form.PORTABLE
    for step in (watch, train, train_in_the_page, export, evaluate, doctor):
        step(folder)
        print(json.dumps({"done": step.__name__}), flush=True)


if __name__ == "__main__":
    run()
