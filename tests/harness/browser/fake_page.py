"""A page that trains and is a test: what its learner says and was told."""

import threading
from typing import Any

import numpy as np

from tests.harness.browser.recorded_widget import until

LEARNER = 7


class FakePage:
    """A page whose learner does what the test says. It speaks on a thread of its own, as in JupyterLab."""

    def __init__(self, widget: Any):
        self.widget, self.comm = widget, widget.comm
        self.run = 0

    def say(self, content: dict[str, Any], *buffers: bytes) -> None:
        message = {"method": "custom", "content": content}
        thread = threading.Thread(
            target=self.comm.handle_msg, args=({"content": {"data": message}, "buffers": list(buffers)},)
        )
        thread.start()
        thread.join()

    def offer(self, learner: int = LEARNER) -> None:
        self.say({"type": "LEARNER_OFFERED", "learner": learner})

    def learner(self, message: dict[str, Any], *buffers: bytes, learner: int = LEARNER) -> None:
        self.say({"type": "FROM_LEARNER", "learner": learner, "run": self.run, "message": message}, *buffers)

    def orders(self, kind: str) -> list[dict[str, Any]]:
        sent = [content for content in self.comm.customs("TO_LEARNER") if content["run"] == self.run]
        return [content["message"] for content in sent if content["message"]["type"] == kind]

    def ordered(self, kind: str, count: int = 1) -> dict[str, Any]:
        until(lambda: len(self.orders(kind)) >= count)
        return self.orders(kind)[-1]

    def begin(self) -> dict[str, Any]:
        """Offer to train, take the run and say that it trains; returns its START."""
        self.run += 1
        self.offer()
        order = self.ordered("START")
        self.learner({"type": "PHASE", "text": "training in this page"})
        until(lambda: self.widget.status == "training")
        return order

    def learned(self, version: int, **metrics: float) -> np.ndarray:
        weights = np.full(self.widget._trainer.latest_policy().weights.shape, version / 100, np.float32)
        self.learner({"type": "POLICY", "version": version, "step": 10 * version}, weights.tobytes())
        self.learner({"type": "METRICS", "values": {"updates": version, "agent_steps": 10 * version, **metrics}})
        return weights

    def file(self) -> bytes:
        """The run as a page would write it."""
        return self.widget._trainer.policy_file()

    def stops(self) -> None:
        self.ordered("STOP")
        self.learner({"type": "FILE", "part": 0, "parts": 1, "ended": True}, self.file())
        until(lambda: self.widget.status == "stopped")
