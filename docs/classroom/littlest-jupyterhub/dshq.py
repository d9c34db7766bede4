"""For The Littlest JupyterHub: copy to /opt/tljh/config/jupyterhub_config.d/dshq.py, then `sudo tljh-config reload`."""

from typing import Any

c: Any = get_config()  # type: ignore[name-defined]  # noqa: F821  # TLJH defines it
LEAGUE = "access:services!service=league"
STATE = "/opt/tljh/state/dshq-league"

# A host for each server, once you have a wildcard certificate: league.md, "What is guarded against".
# c.JupyterHub.subdomain_host = "https://HUB.EXAMPLE.ORG"
# c.JupyterHub.cookie_host_prefix_enabled = True

c.Spawner.default_url = "/lab"
c.Spawner.environment = {
    "DSHQ_LEAGUE_URL": "http://127.0.0.1:8899/services/league",  # the league itself, whatever the hub's address is
    "DSHQ_TRAINING_MINUTES": "30",
}


def prepare(spawner: Any) -> None:
    """A token for the league that opens nothing else: the server's own would start and open servers."""
    note = f"the league, for the server {spawner.name!r}"
    for earlier in [token for token in spawner.user.api_tokens if token.note == note]:
        spawner.db.delete(earlier)
    token = spawner.user.new_api_token(note=note, scopes=[LEAGUE], expires_in=30 * 24 * 3600)
    spawner.environment["DSHQ_LEAGUE_TOKEN"] = token


c.Spawner.pre_spawn_hook = prepare

# The service parses and plays files of students, so it is no root's: `sudo useradd --system dshq-league` and
# `sudo install -d -o dshq-league -m 700 /opt/tljh/state/dshq-league` first.
# Lists, not `=`: TLJH has services (its culler) and roles of its own.
c.JupyterHub.services.append(
    {
        "name": "league",
        "url": "http://127.0.0.1:8899",
        "user": "dshq-league",
        "command": ["/opt/tljh/user/bin/dshq", "league", "serve", "--db", f"sqlite:///{STATE}/league.db"],
        "environment": {"DSHQ_CACHE_DIR": f"{STATE}/cache"},
        "oauth_no_confirm": True,
    }
)
c.JupyterHub.load_roles.extend(
    [
        {"name": "user", "scopes": ["self", LEAGUE]},
        {"name": "league", "scopes": ["read:users:groups"], "services": ["league"]},
    ]
)
