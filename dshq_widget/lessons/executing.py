"""nbgrader's step that runs a student's notebook, in a kernel that gets none of the instructor's tokens, a share of the
memory and half an hour.
"""

from __future__ import annotations

import threading
from typing import Any

from nbgrader.preprocessors import Execute

from dshq_widget.lessons.afresh import environment, most_memory
from dshq_widget.system import processes
from dshq_widget.system.limits import limit_memory

MOST_SHOWN = 64 << 20
"""Letters and bytes that a notebook may show; what is kept of them is far less (nbgrader's LimitOutput)."""


MOST_SECONDS = 1800.0
"""For a notebook. nbgrader limits cells alone, of which there may be any number."""


class ExecuteWithoutSecrets(Execute):
    """In the place of nbgrader's own, whose kernels have all of its variables: a hub's token, the league's."""

    def start_new_kernel(self, **kwargs: Any) -> None:
        """As nbclient does, with few variables."""
        super().start_new_kernel(**kwargs, env=environment())
        self._shown, kernel = 0, self.km.provisioner.process
        limit_memory(most_memory(), kernel.pid)
        over = threading.Timer(MOST_SECONDS, processes.end_group, [kernel.pid])  # no harm where it has ended
        over.daemon = True
        over.start()

    def process_message(self, msg: Any, cell: Any, cell_index: int) -> Any:
        """What the kernel shows. One that shows very much is ended: until it ended by itself all of it would be kept
        here.
        """
        self._shown += _size(msg)
        if self._shown > MOST_SHOWN:
            self.log.error("the notebook shows more than %d bytes: it is not run any further", MOST_SHOWN)
            processes.end_group(self.km.provisioner.process.pid)  # jupyter_client begins a group with each kernel
            return None
        return super().process_message(msg, cell, cell_index)


def _size(msg: Any) -> int:
    content = msg["content"]
    shown = content["text"] if msg["msg_type"] == "stream" else str(content)
    return len(shown) + sum(len(part) for part in msg.get("buffers") or [])
