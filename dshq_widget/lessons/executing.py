"""nbgrader's step that runs a student's notebook, in a kernel that gets none of the instructor's tokens."""

from __future__ import annotations

from typing import Any

from nbgrader.preprocessors import Execute

from dshq_widget.lessons.afresh import environment


class ExecuteWithoutSecrets(Execute):
    """In the place of nbgrader's own, whose kernels have all of its variables: a hub's token, the league's."""

    def start_new_kernel(self, **kwargs: Any) -> None:
        """As nbclient does, with few variables."""
        super().start_new_kernel(**kwargs, env=environment())
