"""Whether the browser sends a request for the league's own page, or for a page of somebody else.

Forms carry a token as well. But a page on another host of the same domain can set the token's cookie, and one of the
same origin (a student's server, on a hub without subdomains) can read the page that the token stands on. A browser says
itself whose request it is, and no page can change that: `Origin`, and `Sec-Fetch-*` over https and on this machine.
https://www.w3.org/TR/fetch-metadata/
"""

from __future__ import annotations

from tornado.httputil import HTTPServerRequest

READING = ("GET", "HEAD", "OPTIONS")


def is_foreign(request: HTTPServerRequest, own: str) -> bool:
    """Whether a request with a cookie has to be refused: a page of the league that is read and not shown, or a form
    from elsewhere than `own`, "host" or "host:port". Who says nothing of it passes: a program, not a browser.
    """
    said = request.headers
    if request.method in READING:
        shown = said.get("Sec-Fetch-Mode", "navigate"), said.get("Sec-Fetch-Dest", "document")
        return shown != ("navigate", "document")
    if "Sec-Fetch-Site" in said:
        return said["Sec-Fetch-Site"] not in ("same-origin", "none")
    return "Origin" in said and said["Origin"].partition("://")[2] != own


def host_of(address: str) -> str:
    """The host of an address as browsers write it: without the port that goes without saying."""
    scheme, _, rest = address.lower().partition("://")
    return rest.partition("/")[0].removesuffix(":443" if scheme == "https" else ":80")
