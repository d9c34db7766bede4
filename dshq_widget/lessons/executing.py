"""nbgrader's step that runs a student's notebook, in a kernel that gets none of the instructor's tokens, and a share of
the memory.
"""

from __future__ import annotations

from typing import Any

from nbgrader.preprocessors import Execute

from dshq_widget.lessons.afresh import environment, most_memory
from dshq_widget.system.limits import limit_memory

MOST_SHOWN = 64 << 20
"""Letters and bytes that a notebook may show; what is kept of them is far less (nbgrader's LimitOutput)."""


class ExecuteWithoutSecrets(Execute):
    """In the place of nbgrader's own, whose kernels have all of its variables: a hub's token, the league's."""

    def start_new_kernel(self, **kwargs: Any) -> None:
        """As nbclient does, with few variables."""
        super().start_new_kernel(**kwargs, env=environment())
        self._shown = 0
        limit_memory(most_memory(), self.km.provisioner.process.pid)

    def process_message(self, msg: Any, cell: Any, cell_index: int) -> Any:
        """What the kernel shows. One that shows very much is ended: until it ended by itself all of it would be kept
        here.
        """
        self._shown += _size(msg)
        if self._shown > MOST_SHOWN:
            self.log.error("the notebook shows more than %d bytes: it is not run any further", MOST_SHOWN)
            self.km.provisioner.process.kill()
            return None
        return super().process_message(msg, cell, cell_index)


def _size(msg: Any) -> int:
    content = msg["content"]
    shown = content["text"] if msg["msg_type"] == "stream" else str(content)
    return len(shown) + sum(len(part) for part in msg.get("buffers") or [])
