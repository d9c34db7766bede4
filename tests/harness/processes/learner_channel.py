"""The channel of a learner that no kernel talks to."""


class Turns:
    """The channel of a learner without a kernel, which is told to stop after `count` turns."""

    def __init__(self, count: int) -> None:
        self.left = count
        self.said: list[dict] = []

    @property
    def closed(self) -> bool:
        return self.left <= 0

    def poll(self, timeout: float = 0.0) -> list[dict]:
        self.left -= 1
        return []

    def send(self, message: dict) -> None:
        self.said.append(message)

    def kinds(self) -> list[str]:
        return [message["type"] for message in self.said]
