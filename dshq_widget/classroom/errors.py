"""What a league rejects. Needs no database, so that sending a policy does not either."""

from __future__ import annotations


class LeagueError(ValueError):
    """A request that the league rejects. The message is one sentence for the user."""

    status = 422
    """Of the answer."""


class NoSuchRound(LeagueError):
    """There is no round of this number."""

    status = 404


class Unavailable(LeagueError):
    """The database cannot be used now: its disk is full, another program holds it, or its server is away."""

    status = 503
