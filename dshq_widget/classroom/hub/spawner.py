"""JupyterHub's servers for a class on one machine: local processes, each with a share of the processors and a home of
its own, all of the same system user. For trying out and for tests; real classes have containers or system users.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from jupyterhub.spawner import SimpleLocalProcessSpawner

from dshq_widget.classroom.hub.share import Share


class ShareSpawner(SimpleLocalProcessSpawner):
    """Holds each server to `cpu_limit` processors, and leaves nothing of it when it stops."""

    _share: Share | None = None

    async def start(self) -> Any:
        if self.cpu_limit:
            self._share = Share(self.user.name, self.cpu_limit)
        return await super().start()

    def make_preexec_fn(self, name: str) -> Callable[[], None]:
        go_home, share = super().make_preexec_fn(name), self._share

        def prepare() -> None:
            if share is not None:
                share.join()
            go_home()

        return prepare

    async def poll(self) -> int | None:
        status = await super().poll()
        if status is not None:  # it may have ended by itself, and left something behind
            await self._leave()
        return status

    async def stop(self, now: bool = False) -> None:
        await super().stop(now)
        await self._leave()

    async def _leave(self) -> None:
        share, self._share = self._share, None
        if share is not None:
            await asyncio.to_thread(share.close)
