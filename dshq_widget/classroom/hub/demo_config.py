"""JupyterHub's configuration of `make hub`: the whole class in one file. demo.py passes what it chose as JSON."""

import json
import os
import sysconfig
from typing import Any

from dshq_kernels.backends.own_python import own_python
from dshq_widget.classroom.hub import demo, demo_course

c: Any = get_config()  # type: ignore[name-defined]  # noqa: F821  # JupyterHub defines it for its configuration files
chosen = json.loads(os.environ["DSHQ_HUB_DEMO"])
folder, port = chosen["folder"], chosen["port"]
league = "access:services!service=league"


def prepare(spawner: Any) -> None:
    """A home, and a token for the league that opens nothing else: the server's own would start and open servers."""
    demo.furnish(spawner.home_dir)
    note = f"the league, for the server {spawner.name!r}"
    for earlier in [token for token in spawner.user.api_tokens if token.note == note]:
        spawner.db.delete(earlier)
    token = spawner.user.new_api_token(note=note, scopes=[league], expires_in=30 * 24 * 3600)
    spawner.environment["DSHQ_LEAGUE_TOKEN"] = token


c.JupyterHub.bind_url = f"http://127.0.0.1:{port}"
c.JupyterHub.subdomain_host = chosen["subdomain_host"]
c.JupyterHub.cookie_host_prefix_enabled = chosen["subdomain_host"].startswith("https:")  # docs/classroom/league.md
c.JupyterHub.hub_bind_url = f"http://127.0.0.1:{chosen['hub_port']}"
c.ConfigurableHTTPProxy.api_url = f"http://127.0.0.1:{chosen['proxy_port']}"
c.ConfigurableHTTPProxy.command = chosen["proxy"]
c.ConfigurableHTTPProxy.pid_file = f"{folder}/proxy.pid"
c.JupyterHub.db_url = f"sqlite:///{folder}/hub.sqlite"
c.JupyterHub.cookie_secret_file = f"{folder}/cookie_secret"
c.JupyterHub.last_activity_interval = 30

c.JupyterHub.authenticator_class = "dshq_widget.classroom.hub.accounts.Accounts"
c.Accounts.passwords = chosen["passwords"]
c.Authenticator.allowed_users = {*demo.STUDENTS, demo.INSTRUCTOR}
c.JupyterHub.load_groups = {"instructors": {"users": [demo.INSTRUCTOR]}}

c.JupyterHub.spawner_class = "dshq_widget.classroom.hub.spawner.ShareSpawner"
c.SimpleLocalProcessSpawner.home_dir_template = f"{folder}/home/{{username}}"
c.Spawner.cmd = own_python("-m", "jupyterhub.singleuser")
c.Spawner.args = [
    *(["--allow-root"] if os.geteuid() == 0 else []),
    "--ServerApp.terminado_settings=shell_command=['bash']",  # no login shell, which would forget the PATH below
    *chosen["arguments"],
]
c.Spawner.pre_spawn_hook = prepare
c.Spawner.default_url = f"/lab/tree/{demo.FIRST}"
c.Spawner.cpu_limit = chosen["cpu"]
c.Spawner.mem_limit = "1G"  # reported to the toolkit, but not enforced
c.Spawner.http_timeout = c.Spawner.start_timeout = 120
c.Spawner.environment = {
    "DSHQ_LEAGUE_URL": f"http://127.0.0.1:{chosen['league_port']}/services/league",  # whatever the hub's own address is
    "DSHQ_CACHE_DIR": chosen["cache"],
    "JUPYTER_CONFIG_PATH": f"{folder}/{demo_course.FOLDER}",
    "PATH": os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)]),
}

c.JupyterHub.services = [
    {
        "name": "league",
        "url": f"http://127.0.0.1:{chosen['league_port']}",
        "command": [*demo.DSHQ, "league", "serve", "--db", f"sqlite:///{folder}/league.db"],
        "environment": {"DSHQ_CACHE_DIR": chosen["cache"]},
        "oauth_no_confirm": True,
    },
    {
        "name": "idle-culler",
        "command": own_python("-m", "jupyterhub_idle_culler", f"--timeout={chosen['idle_seconds']}"),
    },
    {"name": "demo", "api_token": chosen["token"]},
]
c.JupyterHub.load_roles = [
    {"name": "user", "scopes": ["self", league]},
    {"name": "league", "scopes": ["read:users:groups"], "services": ["league"]},
    {
        "name": "idle-culler",
        "scopes": ["list:users", "read:users:activity", "read:servers", "delete:servers"],
        "services": ["idle-culler"],
    },
    {"name": "demo", "scopes": ["admin:users", "admin:servers", "tokens"], "services": ["demo"]},
]
if chosen["settings"]:
    load_subconfig(chosen["settings"])  # type: ignore[name-defined]  # noqa: F821  # as get_config
