"""Who may log in on the hub of `make hub`: each name with a password of its own. Needs the package jupyterhub."""

from __future__ import annotations

import hmac
from typing import Any

from jupyterhub.auth import Authenticator
from traitlets import Dict, Unicode


class Accounts(Authenticator):
    """Names and their passwords, from the configuration; whoever knows one password is nobody else."""

    passwords = Dict(key_trait=Unicode(), value_trait=Unicode(), help="Passwords by name.").tag(config=True)

    async def authenticate(self, handler: Any, data: dict[str, str]) -> str | None:
        """The name, or None for a wrong password or an unknown name."""
        wanted = self.passwords.get(data["username"])
        good = wanted is not None and hmac.compare_digest(data["password"].encode(), wanted.encode())
        return data["username"] if good else None
