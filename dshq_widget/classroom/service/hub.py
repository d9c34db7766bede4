"""The league as a JupyterHub service: the hub authenticates users. Needs the package jupyterhub."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import jupyterhub
from jupyterhub.services.auth import HubOAuth, HubOAuthCallbackHandler, HubOAuthenticated
from jupyterhub.utils import get_browser_protocol
from tornado import httputil, web

from dshq_widget.classroom.errors import LeagueError
from dshq_widget.classroom.service.page import Turned
from dshq_widget.classroom.store import User

OLDEST = (5, 0)
"""Of JupyterHub. A hub may bring an older one of its own, by whose check of forms other servers' pages could send them
(before 4.1), or which does not say what the league's address is.
"""
SESSION = "jupyterhub-session-id"
LONGEST_SESSION, LONGEST_ADDRESS = 64, 1000
"""Letters of that cookie, of which the hub's have 32, and of the address to which who logs in comes back."""
MOST_KEPT = 50_000
"""Answers of the hub, and logins that were begun: its client keeps both for minutes, whoever asks."""


class OfHub(HubOAuthenticated):
    """Mixin for every page: JupyterHub's login and tokens instead of the league's."""

    settings: dict[str, Any]
    request: httputil.HTTPServerRequest

    async def prepare(self) -> None:
        """Ask the hub whose request it is, while others are answered; the page asks whether a form is its own."""
        for kept in (self.hub_auth.cache, self.hub_auth._oauth_states):
            if len(kept.values) > MOST_KEPT:
                kept.clear()
        await self.hub_auth.get_user(self, sync=False)
        more = super().prepare()
        if more is not None:
            await more

    def get_cookie(self, name: str, default: Any = None) -> Any:
        """One of a session that no hub has set is none: it would be kept with the hub's answer."""
        found = super().get_cookie(name, default)
        return default if name == SESSION and len(found or "") > LONGEST_SESSION else found

    def get_login_url(self) -> str:
        """Where one logs in; the hub's client keeps the address that was asked for."""
        if len(self.request.uri or "") > LONGEST_ADDRESS:
            raise web.HTTPError(414, reason=f"An address of the league has {LONGEST_ADDRESS} letters at most")
        return str(super().get_login_url())

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

    def public_url(self) -> str:
        """The league's address as people type it: what the hub says, or else the outermost of its proxies."""
        said = os.environ.get("JUPYTERHUB_PUBLIC_URL")
        return said or f"{get_browser_protocol(self.request)}://{self.request.host}{self.settings['prefix']}"

    def check_xsrf_cookie(self) -> None:
        """The hub's own check: its tokens are signed and of one session, so that nobody else can set one."""
        if hasattr(self, "_cached_hub_user"):  # tornado calls it before `prepare`, which calls it again
            super().check_xsrf_cookie()


def check_release(found: tuple[int, ...] = jupyterhub.version_info[:2]) -> None:
    """Raises LeagueError behind a JupyterHub that is older than `OLDEST`."""
    if found < OLDEST:
        wanted, got = (".".join(map(str, one)) for one in (OLDEST, found))
        raise LeagueError(
            f"wanted JupyterHub {wanted} or newer in the league's environment, got {got}: "
            f"pip install 'jupyterhub>={wanted}' there"
        )


def has_own_host(environ: Mapping[str, str]) -> bool:
    """Whether the hub has given the league a host of its own, and browsers reach it by https."""
    own, hub = urlsplit(environ.get("JUPYTERHUB_PUBLIC_URL", "")), urlsplit(environ.get("JUPYTERHUB_HOST", ""))
    return own.scheme == "https" and bool(hub.hostname) and own.hostname != hub.hostname


def keep_cookies() -> None:
    """Bind the login's cookies to the league's host where it has its own. Every host of a domain can set cookies for
    all of them, so a student's page could plant its student's login; but none can set one named `__Host-`. On a host
    that is shared, such cookies would be sent to students' servers, too.
    """
    if has_own_host(os.environ):
        HubOAuth.instance().cookie_host_prefix_enabled = True


def of_hub(page: type[web.RequestHandler]) -> type[web.RequestHandler]:
    """The same page behind the hub's login."""
    return type(page.__name__, (OfHub, page), {})


class Callback(OfHub, Turned, HubOAuthCallbackHandler):
    """The hub's own handler of logins, which would wait for the hub while nobody else is answered."""

    async def prepare(self) -> None:
        """Strangers ask for it."""
        if (turn := self.turn(("host", self.address))) is not None:
            await turn
        await super().prepare()


def callback(prefix: str) -> tuple[str, type[web.RequestHandler], dict[str, Any]]:
    """The address the hub redirects to after login."""
    return (f"{prefix}oauth_callback", Callback, {})
