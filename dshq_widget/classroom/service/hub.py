"""The league as a JupyterHub service: the hub authenticates users. Needs the package jupyterhub."""

from __future__ import annotations

from typing import Any

from jupyterhub.services.auth import HubOAuthCallbackHandler, HubOAuthenticated
from tornado import web

from dshq_widget.classroom.store import User


class OfHub(HubOAuthenticated):
    """Mixin for every page: JupyterHub's login and tokens instead of the league's."""

    settings: dict[str, Any]

    async def prepare(self) -> None:
        """Ask the hub whose request it is, while others are answered, and then whether a form is the page's own."""
        await self.hub_auth.get_user(self, sync=False)
        if self.request.method not in ("GET", "HEAD", "OPTIONS"):
            self.check_xsrf_cookie()
        more = super().prepare()
        if more is not None:
            await more

    def get_current_user(self) -> User | None:
        model = super().get_current_user()
        if not model or model.get("kind") != "user":
            return None
        teaches = self.settings["instructors"] in (model.get("groups") or [])
        return User(model["name"], bool(model.get("admin")) or teaches)

    @property
    def by_token(self) -> bool:
        """Whether the hub knows the token in the header. With any other header it falls back to the cookie, which the
        pages of a student's own server could use: they are of the same origin.
        """
        return getattr(self, "_token_authenticated", False)

    def check_xsrf_cookie(self) -> None:
        """The hub's own check: its tokens are signed and of one session, so that nobody else can set one."""
        if hasattr(self, "_cached_hub_user"):  # tornado calls it before `prepare`, which calls it again
            super().check_xsrf_cookie()


def of_hub(page: type[web.RequestHandler]) -> type[web.RequestHandler]:
    """The same page behind the hub's login."""
    return type(page.__name__, (OfHub, page), {})


def callback(prefix: str) -> tuple[str, type[web.RequestHandler], dict[str, Any]]:
    """The address the hub redirects to after login."""
    return (f"{prefix}oauth_callback", HubOAuthCallbackHandler, {})
