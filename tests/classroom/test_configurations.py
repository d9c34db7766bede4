"""The configurations in docs/classroom: they can be read, and agree with one another and with the code."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from traitlets.config import Config

from dshq_widget.classroom import demo
from dshq_widget.classroom.seat import Rules

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs" / "classroom"
LEAGUE = "access:services!service=league"
CHOSEN = {
    "folder": "/srv/hub",
    "port": 8000,
    "hub_port": 8081,
    "proxy_port": 8001,
    "league_port": 8899,
    "proxy": ["chp"],
    "password": "p",
    "token": "t",
    "cpu": 0.5,
    "cache": "/cache",
    "idle_seconds": 60,
    "environment": {},
    "arguments": [],
}


def run(path: Path) -> Config:
    """A JupyterHub configuration file, run as the hub does."""
    c = Config()
    exec(compile(path.read_text(), str(path), "exec"), {"get_config": lambda: c})
    return c


@pytest.fixture
def values() -> dict:
    return yaml.safe_load((DOCS / "zero-to-jupyterhub" / "values.yaml").read_text())


def test_the_demonstration(monkeypatch):
    monkeypatch.setenv("DSHQ_HUB_DEMO", json.dumps(CHOSEN))
    c = run(Path(demo.__file__).with_name("demo_config.py"))
    assert c.Spawner.cpu_limit == 0.5 and LEAGUE in c.Spawner.server_token_scopes
    assert {service["name"] for service in c.JupyterHub.services} == {"league", "idle-culler", "demo"}
    assert all("127.0.0.1" in url for url in (c.JupyterHub.bind_url, c.JupyterHub.hub_bind_url))


def test_the_littlest_jupyterhub_keeps_what_it_has():
    c = run(DOCS / "littlest-jupyterhub" / "dshq.py")
    culler = {"name": "cull-idle"}
    services = c.JupyterHub.services.get_value([culler])
    assert [service["name"] for service in services] == ["cull-idle", "league"]
    roles = {role["name"]: role["scopes"] for role in c.JupyterHub.load_roles.get_value([])}
    assert roles == {"user": ["self", LEAGUE], "league": ["read:users:groups"]}
    assert Rules.of({**c.Spawner.environment, "JUPYTERHUB_USER": "ada"}).league.endswith("/services/league")


def test_zero_to_jupyterhub(values):
    student = values["singleuser"]
    assert (student["cpu"]["limit"], student["memory"]["limit"]) == (0.5, "1G")
    assert [mount["mountPath"] for mount in student["storage"]["extraVolumeMounts"]] == ["/dev/shm"]
    rules = Rules.of({**student["extraEnv"], "JUPYTERHUB_USER": "ada"})
    assert rules.minutes == 30 and rules.league.startswith(values["hub"]["services"]["league"]["url"])
    assert LEAGUE in values["hub"]["loadRoles"]["user"]["scopes"]
    spawner = SimpleNamespace()
    for code in values["hub"]["extraConfig"].values():
        exec(code, {"c": SimpleNamespace(Spawner=spawner)})
    assert LEAGUE in spawner.server_token_scopes


def test_the_leagues_pod(values):
    documents = yaml.safe_load_all((DOCS / "zero-to-jupyterhub" / "league.yaml").read_text())
    found = {document["kind"]: document for document in documents}
    (container,) = found["Deployment"]["spec"]["template"]["spec"]["containers"]
    assert container["command"][:3] == ["dshq", "league", "serve"]
    names = {entry["name"] for entry in container["env"]}
    assert {"JUPYTERHUB_SERVICE_PREFIX", "JUPYTERHUB_API_TOKEN", "JUPYTERHUB_API_URL"} <= names
    port = found["Service"]["spec"]["ports"][0]["port"]
    assert values["hub"]["services"]["league"]["url"] == f"http://league:{port}"
    (rule,) = values["singleuser"]["networkPolicy"]["egress"]
    assert rule["to"][0]["podSelector"]["matchLabels"] == found["Service"]["spec"]["selector"]


def test_the_image_takes_the_torch_of_the_checkout():
    image, make = (DOCS / "Dockerfile").read_text(), (ROOT / "Makefile").read_text()
    assert re.search(r"torch==[\d.]+", image)[0] == re.search(r"torch==[\d.]+", make)[0]
