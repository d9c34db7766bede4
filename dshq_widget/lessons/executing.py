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
        self._shown = 0
        limit_memory(most_memory(), self.km.provisioner.process.pid)

    def preprocess(self, *notebook: Any, **how: Any) -> Any:
        """As nbclient does, until its time is over."""
        late = threading.Timer(MOST_SECONDS, self._end, [f"takes more than {MOST_SECONDS:g} s"])
        late.daemon = True
        late.start()
        try:
            return super().preprocess(*notebook, **how)
        finally:
            late.cancel()

    def process_message(self, msg: Any, cell: Any, cell_index: int) -> Any:
        """What the kernel shows. One that shows very much is ended: until it ended by itself all of it would be kept
        here.
        """
        self._shown += _size(msg)
        if self._shown > MOST_SHOWN:
            self._end(f"shows more than {MOST_SHOWN} bytes")
            return None
        return super().process_message(msg, cell, cell_index)

    def _end(self, why: str) -> None:
        """Not run any further: nbclient raises DeadKernelError, and nbgrader goes on with the next student's."""
        self.log.error("the notebook %s: it is not run any further", why)
        if self.km is not None and self.km.provisioner is not None and self.km.provisioner.process is not None:
            processes.end_group(self.km.provisioner.process.pid)  # jupyter_client begins a group with each kernel


def _size(msg: Any) -> int:
    content = msg["content"]
    shown = content["text"] if msg["msg_type"] == "stream" else str(content)
    return len(shown) + sum(len(part) for part in msg.get("buffers") or [])
