"""The configurations in docs/classroom: they can be read, and agree with one another and with the code."""

import asyncio
import os
import re
import shutil
import stat
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import psutil
import pytest
import yaml
from tornado.web import HTTPError
from traitlets.config import Config

from dshq_widget.classroom.hub import demo, demo_course
from dshq_widget.widget.quota import Rules
from tests.harness.processes.faults import until
from tools.instructor import assignments

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs" / "classroom"
LEAGUE = "access:services!service=league"
TLJH = """
c = get_config()
c.JupyterHub.services = [{"name": "cull-idle", "admin": True, "command": ["cull"]}]
load_subconfig(%r)
"""
"""How The Littlest JupyterHub reads what lies in jupyterhub_config.d: last, with a service of its own there before."""
NUMBER = (int, float)
CHART = {
    "proxy": {"https": {"enabled": bool, "hosts": list, "type": str, "letsencrypt": {"contactEmail": str}}},
    "hub": {"services": dict, "loadRoles": dict, "extraConfig": dict, "config": dict, "extraEnv": dict},
    "singleuser": {
        "image": {"name": str, "tag": str, "pullPolicy": str},
        "defaultUrl": str,
        "startTimeout": int,
        "cpu": {"limit": NUMBER, "guarantee": NUMBER},
        "memory": {"limit": (str, int), "guarantee": (str, int)},
        "extraEnv": dict,
        "storage": {"type": str, "capacity": str, "extraVolumes": list, "extraVolumeMounts": list},
        "networkPolicy": {"enabled": bool, "ingress": list, "egress": list},
        "profileList": list,
    },
    "cull": {"enabled": bool, "users": bool, "timeout": int, "every": int, "maxAge": int, "concurrency": int},
}
"""What Zero to JupyterHub's chart 4 takes, of all that its configuration reference lists what a class may need."""
CHOSEN = """{"folder": "/srv/hub", "port": 8000, "hub_port": 8081, "proxy_port": 8001, "league_port": 8899,
"proxy": ["chp"], "passwords": {"ada": "p"}, "token": "t", "cpu": 0.5, "cache": "/cache", "idle_seconds": 60,
"environment": {}, "arguments": [], "settings": null, "subdomain_host": ""}"""


def run(path: Path) -> Config:
    """A JupyterHub configuration file, run as the hub does."""
    c = Config()
    exec(compile(path.read_text(), str(path), "exec"), {"get_config": lambda: c, "__file__": str(path)})
    return c


@pytest.fixture
def values() -> dict:
    """With the profiles and the hosts that stand there as examples."""
    text = (DOCS / "zero-to-jupyterhub" / "values.yaml").read_text()
    return yaml.safe_load(re.sub(r"(?m)^  # (profileList:|config:|  )", r"  \1", text))


def unknown(values: dict, known: dict, place: str = "") -> list[str]:
    """The keys that a chart does not have, or that it takes other values for."""
    found = []
    for key, value in values.items():
        wanted = known.get(key)
        if isinstance(wanted, dict) and isinstance(value, dict):
            found += unknown(value, wanted, f"{place}{key}.")
        elif wanted is None or isinstance(wanted, dict) or not isinstance(value, wanted):
            found.append(f"{place}{key}: {value!r}")
    return found


def test_the_demonstration(monkeypatch):
    monkeypatch.setenv("DSHQ_HUB_DEMO", CHOSEN)
    c = run(Path(demo.__file__).with_name("demo_config.py"))
    assert c.Spawner.cpu_limit == 0.5
    assert {service["name"] for service in c.JupyterHub.services} == {"league", "idle-culler", "demo"}
    assert c.Spawner.environment["PATH"].startswith(str(Path(sys.executable).parent)), "for commands in a terminal"
    assert all("127.0.0.1" in url for url in (c.JupyterHub.bind_url, c.JupyterHub.hub_bind_url))


def test_the_littlest_jupyterhub_keeps_what_it_has():
    c = run(DOCS / "littlest-jupyterhub" / "dshq.py")
    culler = {"name": "cull-idle"}
    services = c.JupyterHub.services.get_value([culler])
    assert [service["name"] for service in services] == ["cull-idle", "league"]
    assert services[1]["user"] == "dshq-league", "without one it is root's, and it plays files of students"
    made = (DOCS / "README.md").read_text()
    folder = services[1]["command"][-1].removeprefix("sqlite:///").removesuffix("/league.db")
    assert "useradd --system dshq-league" in made and f"install -d -o dshq-league -m 700 {folder}" in made
    roles = {role["name"]: role["scopes"] for role in c.JupyterHub.load_roles.get_value([])}
    assert roles == {"user": ["self", LEAGUE], "league": ["read:users:groups"]}
    rules = Rules.of({**c.Spawner.environment, "JUPYTERHUB_USER": "ada"})
    assert rules.league == f"{services[1]['url']}/services/league", "the hub's own address may be another host"


def test_jupyterhub_itself_reads_the_littlest(tmp_path: Path):
    pytest.importorskip("jupyterhub", reason="pip install 'dshq-widget[hub]'")
    from jupyterhub.app import JupyterHub
    from jupyterhub.scopes import scope_definitions
    from jupyterhub.services.service import Service

    (tmp_path / "jupyterhub_config.py").write_text(TLJH % str(DOCS / "littlest-jupyterhub" / "dshq.py"))
    hub = JupyterHub()
    hub.load_config_file(str(tmp_path / "jupyterhub_config.py"))
    assert [service["name"] for service in hub.services] == ["cull-idle", "league"]
    assert set(hub.services[1]) <= set(Service.class_trait_names())
    for role in hub.load_roles:
        assert {scope.partition("!")[0] for scope in role["scopes"]} <= set(scope_definitions)


def test_the_chart_knows_every_value(values):
    assert unknown(values, CHART) == []
    assert len(values["singleuser"]["profileList"]) == 2
    assert set(values["hub"]["config"]["JupyterHub"]) == {"subdomain_host", "cookie_host_prefix_enabled"}
    assert unknown({"cull": {"maxage": 1, "every": "x"}, "hubs": {}}, CHART) == [
        "cull.maxage: 1",
        "cull.every: 'x'",
        "hubs: {}",
    ]


def test_zero_to_jupyterhub(values):
    student = values["singleuser"]
    assert (student["cpu"]["limit"], student["memory"]["limit"]) == (0.5, "1G")
    assert [mount["mountPath"] for mount in student["storage"]["extraVolumeMounts"]] == ["/dev/shm"]
    rules = Rules.of({**student["extraEnv"], "JUPYTERHUB_USER": "ada"})
    assert rules.minutes == 30 and rules.league.startswith(values["hub"]["services"]["league"]["url"])
    assert LEAGUE in values["hub"]["loadRoles"]["user"]["scopes"]


class User:
    """A user of the hub's, as far as a hook asks: makes tokens, and remembers what each opens."""

    def __init__(self) -> None:
        self.api_tokens = [SimpleNamespace(note="my own", scopes=["self"])]

    def new_api_token(self, note: str, scopes: list[str], expires_in: int) -> str:
        self.api_tokens.append(SimpleNamespace(note=note, scopes=scopes))
        return f"token {len(self.api_tokens)}"


@pytest.mark.parametrize("where", ["make hub", "littlest", "zero"])
def test_what_a_server_sends_to_the_league_opens_nothing_else(where: str, values: dict, tmp_path: Path, monkeypatch):
    monkeypatch.setenv("DSHQ_HUB_DEMO", CHOSEN)
    c = Config()
    if where == "make hub":
        c = run(Path(demo.__file__).with_name("demo_config.py"))
    elif where == "littlest":
        c = run(DOCS / "littlest-jupyterhub" / "dshq.py")
    else:
        for code in values["hub"]["extraConfig"].values():
            exec(code, {"c": c})
    assert "server_token_scopes" not in c.Spawner, "the server's own token needs no more than the hub gives it"
    user = User()
    db = SimpleNamespace(delete=user.api_tokens.remove)
    spawner = SimpleNamespace(name="", user=user, db=db, environment={}, home_dir=str(tmp_path))
    for _ in range(2):  # the second start of the same server
        c.Spawner.pre_spawn_hook(spawner)
    assert [token.scopes for token in user.api_tokens] == [["self"], [LEAGUE]]
    rules = Rules.of({**spawner.environment, "JUPYTERHUB_USER": "ada", "JUPYTERHUB_API_TOKEN": "the server's own"})
    assert rules.token == "token 2"


def test_the_leagues_pod(values):
    text = (DOCS / "zero-to-jupyterhub" / "league.yaml").read_text()
    found = {document["kind"]: document for document in yaml.safe_load_all(text)}
    (container,) = found["Deployment"]["spec"]["template"]["spec"]["containers"]
    assert container["command"][:3] == ["dshq", "league", "serve"]
    names = {entry["name"] for entry in container["env"]}
    assert {"JUPYTERHUB_SERVICE_PREFIX", "JUPYTERHUB_API_TOKEN", "JUPYTERHUB_API_URL"} <= names
    examples = yaml.safe_load("".join(re.findall(r"(?m)^ *# ((?:- |  value:).*\n)", text)))
    hosts = {entry["name"]: entry["value"] for entry in examples}
    place = "https://league--service.HUB.EXAMPLE.ORG/services/league/"
    assert hosts == {
        "JUPYTERHUB_HOST": values["hub"]["config"]["JupyterHub"]["subdomain_host"],
        "JUPYTERHUB_PUBLIC_URL": place,
        "JUPYTERHUB_OAUTH_CALLBACK_URL": f"{place}oauth_callback",
    }
    port = found["Service"]["spec"]["ports"][0]["port"]
    pytest.importorskip("sqlalchemy")
    from dshq_widget.classroom.service import pages

    pod = found["Deployment"]["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] and pod["automountServiceAccountToken"] is False
    assert container["securityContext"] == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    prefix = next(entry["value"] for entry in container["env"] if entry["name"] == "JUPYTERHUB_SERVICE_PREFIX")
    addresses = [re.compile(pattern + "$") for pattern, *_ in pages.routes(prefix)]
    for probe in ("startupProbe", "livenessProbe"):
        asked = container[probe]["httpGet"]
        assert asked["port"] == port and any(address.match(asked["path"]) for address in addresses)
    assert values["hub"]["services"]["league"]["url"] == f"http://league:{port}"
    (rule,) = values["singleuser"]["networkPolicy"]["egress"]
    assert rule["to"][0]["podSelector"]["matchLabels"] == found["Service"]["spec"]["selector"]


def test_what_is_installed_exists_and_is_the_torch_of_the_checkout():
    binder = ROOT / ".binder" / "requirements.txt"
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for path in (DOCS / "Dockerfile", DOCS / "README.md", binder):
        text = path.read_text()
        assert re.search(r"torch==[\d.]+", text)[0] == extras["torch"][0]
        wanted = re.search(r"(?:dshq(?:-widget)?|(?m:^)\.)\[([\w,]+)\]", text)[1].split(",")
        assert wanted and set(wanted) <= set(extras)


def test_binder_shows_no_answers():
    script = ROOT / ".binder" / "postBuild"
    assert os.access(script, os.X_OK), "Binder runs it"
    assert "\nrm -rf tests\n" in script.read_text()


def test_lti_is_the_same_on_both_hubs():
    littlest = run(DOCS / "littlest-jupyterhub" / "lti.py")
    chart = yaml.safe_load((DOCS / "zero-to-jupyterhub" / "lti.yaml").read_text())
    assert unknown(chart, CHART) == []
    for name, settings in chart["hub"]["config"].items():
        littles = {key: value for key, value in littlest[name].items() if not callable(value)}
        of_littlest = {key: list(v) if isinstance(v, set) else v for key, v in littles.items()}
        assert settings == of_littlest, name


@pytest.mark.parametrize("where", ["lti.py", "lti11.py", "lti.yaml"])
def test_a_teachers_name_needs_the_platforms_number_of_that_person(where: str, tmp_path: Path):
    """Who places the tool in a course may set the parameter from which names come."""
    pytest.importorskip("jupyterhub", reason="pip install 'dshq-widget[hub]'")
    from jupyterhub.auth import Authenticator

    number = "user_id" if where == "lti11.py" else "sub"
    folder = "zero-to-jupyterhub" if where == "lti.yaml" else "littlest-jupyterhub"
    text = (DOCS / folder / where).read_text().replace("PROF", "Prof").replace("NUMBER", "77")
    if where == "lti.yaml":
        chart = yaml.safe_load(text)
        c = Config(chart["hub"]["config"])
        exec(chart["hub"]["extraConfig"]["20-lti"], {"c": c})
    else:
        (tmp_path / where).write_text(text)
        c = run(tmp_path / where)

    class Launched(Authenticator):
        async def authenticate(self, handler: Any, data: dict[str, str]) -> dict[str, Any]:
            return {"name": data["custom_login"], "auth_state": {number: data["number"]}}

    admins = [name.lower() for name in c.Authenticator.admin_users]  # as the hub does when it starts
    hub = Launched(allow_all=True, admin_users=admins, post_auth_hook=c.Authenticator.post_auth_hook)
    known = {
        "ada": SimpleNamespace(admin=False, groups=[]),
        "root": SimpleNamespace(admin=True, groups=[]),
        "staff": SimpleNamespace(admin=False, groups=[SimpleNamespace(name="instructors")]),
        "prof": SimpleNamespace(admin=True, groups=[]),
    }

    def admin(name: str, who: str) -> bool | None:
        """Whether a launch makes an admin; None where it is refused."""
        launch = {"custom_login": name, "number": who}
        try:
            model = asyncio.run(hub.get_authenticated_user(SimpleNamespace(find_user=known.get), launch))
        except HTTPError as refused:
            assert refused.status_code == 403
            return None
        return bool(model["admin"])

    for teacher in ("Prof", "prof", "PROF"):
        assert admin(teacher, "77") is True
        assert admin(teacher, "4711") is None and admin(teacher, "") is None
    assert admin("ada", "4711") is False and admin("new", "4712") is False
    assert admin("root", "4711") is None and admin("staff", "4711") is None, "not in TEACHERS"


def test_nbgrader_of_the_hub_and_of_the_course_agree(tmp_path: Path, monkeypatch):
    pytest.importorskip("nbgrader", reason="pip install 'dshq-widget[instructor]'")
    monkeypatch.setenv("DSHQ_LESSON_SECONDS", "1")  # the course's file sets it where it is not set
    demo_course.furnish(tmp_path)
    (tmp_path / "nbgrader_config.py").write_text(assignments.CONFIGURATION)
    course = run(tmp_path / "nbgrader_config.py")
    for path in (DOCS / "nbgrader" / "nbgrader_config.py", tmp_path / demo_course.FOLDER / "nbgrader_config.py"):
        assert run(path).CourseDirectory.course_id == course.CourseDirectory.course_id
    assert run(DOCS / "nbgrader" / "nbgrader_config.py").Exchange.root in (DOCS / "instructor.md").read_text()
    assert course.CourseDirectory.student_id == "*", "the instructor grades everybody"


def test_in_the_exchange_nobody_moves_what_is_somebody_elses(tmp_path: Path):
    """Where everybody writes and the sticky bit is not set, a student puts an own course in the instructor's place."""
    demo_course.furnish(tmp_path)
    assert stat.S_IMODE((tmp_path / demo_course.FOLDER / "exchange").stat().st_mode) == 0o1777
    around = stat.S_IMODE((tmp_path / demo_course.FOLDER).stat().st_mode)
    assert around == 0o700, "no other user of the machine hands in what is run when it is graded"
    said = re.findall(r"(\d{4}) /srv/nbgrader/exchange", (DOCS / "instructor.md").read_text())
    assert said == ["1777", "1777"]


def put(inbound: Path, name: str) -> Path:
    """A submission in nbgrader's exchange."""
    (inbound / name).mkdir(parents=True)
    (inbound / name / "shaping.ipynb").write_text(name)
    return inbound / name


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows")
@pytest.mark.parametrize("which", ["course", "a server"])
def test_what_a_student_hands_in_keeps_nobody_else_from_it(tmp_path: Path, monkeypatch, which: str):
    """nbgrader ended at the first that it could not copy, and copied whatever a link led to."""
    factory = pytest.importorskip("nbgrader.exchange", reason="pip install 'dshq-widget[instructor]'").ExchangeFactory
    from nbgrader.coursedir import CourseDirectory

    monkeypatch.setenv("PATH", sysconfig.get_path("scripts"), prepend=os.pathsep)  # nbgrader calls alembic by its name
    monkeypatch.setenv("DSHQ_LESSON_SECONDS", "1")
    written = assignments.CONFIGURATION if which == "course" else (DOCS / "nbgrader/nbgrader_config.py").read_text()
    (tmp_path / "nbgrader_config.py").write_text(written)
    settings = run(tmp_path / "nbgrader_config.py")
    settings.CourseDirectory.update(root=str(tmp_path), db_url=f"sqlite:///{tmp_path}/g.db", assignment_id="shaping")
    settings.Exchange.root = str(tmp_path / "exchange")
    secret, when = tmp_path / "secret", "2026-01-02 03:04:05 UTC"
    secret.mkdir()
    (secret / "key").write_text("the instructor's")
    inbound = tmp_path / "exchange" / "dshq" / "inbound"
    put(inbound, "a+shaping+not a time+x")
    os.mkfifo(put(inbound, f"bad1+shaping+{when}+x") / "pipe")
    (put(inbound, f"bad2+shaping+{when}+x") / "all").symlink_to(secret)
    (put(inbound, f"bad3+shaping+{when}+x") / "key").symlink_to(secret / "key")
    (inbound / f"bad4+shaping+{when}+x").symlink_to(secret)
    put(inbound, f"zoe+shaping+{when}+x")
    later = put(inbound, f"zoe+shaping+{when.replace('2026', '2027')}+x")
    real, theirs = os.stat, os.stat_result((*os.stat(later)[:4], 65534, *os.stat(later)[5:]))
    monkeypatch.setattr(os, "stat", lambda path, **how: theirs if str(path) == str(later) else real(path, **how))
    (inbound / f"zoe+shaping+{when.replace('2026', '2028')}+x").symlink_to(later)
    (put(inbound, f"yan+shaping+{when}+x") / "timestamp.txt").write_text("not a time")
    for _ in range(2):
        factory(config=settings).Collect(coursedir=CourseDirectory(config=settings), config=settings).start()
    found = {str(path.relative_to(tmp_path)) for path in (tmp_path / "submitted").glob("*/*/*")}
    theirs_too = {f"submitted/yan/shaping/{name}" for name in ("shaping.ipynb", "timestamp.txt")}
    assert found == {"submitted/zoe/shaping/shaping.ipynb", *theirs_too}
    assert when == (tmp_path / "submitted/yan/shaping/timestamp.txt").read_text(), "else collecting ends there"
    assert "2026" in (tmp_path / "submitted/zoe/shaping/shaping.ipynb").read_text(), "not what another user put there"


def test_a_submission_that_is_graded_runs_without_the_instructors_tokens(tmp_path: Path, monkeypatch):
    preprocessors = pytest.importorskip("nbgrader.preprocessors", reason="pip install 'dshq-widget[instructor]'")
    for name in ("JUPYTERHUB_API_TOKEN", "DSHQ_LEAGUE_TOKEN"):
        monkeypatch.setenv(name, "the instructor's")
    monkeypatch.setenv("DSHQ_LESSON_SECONDS", "1")
    (tmp_path / "nbgrader_config.py").write_text(assignments.CONFIGURATION)
    course = run(tmp_path / "nbgrader_config.py")
    steps = course.Autograde.autograde_preprocessors
    (execute,) = [step for step in steps if issubclass(step, preprocessors.Execute)]
    assert steps[steps.index(execute) + 1].__name__ == "Afresh"
    source = "import os\nsorted(name for name in os.environ if name.startswith(('DSHQ_LE', 'JUPYTERHUB')))"
    cell = nbformat.v4.new_code_cell(source)
    made, _ = execute(parent=None, config=course)(nbformat.v4.new_notebook(cells=[cell]), {})
    assert [output.data["text/plain"] for output in made.cells[0].outputs] == ["['DSHQ_LESSON_SECONDS']"]


def test_a_submission_of_many_cells_has_half_an_hour(tmp_path: Path, monkeypatch):
    """Each cell had ten minutes: a notebook of a thousand kept everybody else's waiting for a week."""
    pytest.importorskip("nbgrader.preprocessors", reason="pip install 'dshq-widget[instructor]'")
    from nbclient.exceptions import DeadKernelError

    from dshq_widget.lessons import executing

    monkeypatch.setattr(executing, "MOST_SECONDS", 3.0)
    (tmp_path / "nbgrader_config.py").write_text(assignments.CONFIGURATION)
    execute = executing.ExecuteWithoutSecrets(parent=None, config=run(tmp_path / "nbgrader_config.py"))
    cells = [nbformat.v4.new_code_cell(f"import time\ntime.sleep(1)  # {k}") for k in range(30)]
    with pytest.raises(DeadKernelError):
        execute(nbformat.v4.new_notebook(cells=cells), {})


@pytest.mark.skipif(sys.platform != "linux", reason="no other system limits a process's memory")
def test_a_submission_that_is_graded_fills_no_memory(tmp_path: Path, monkeypatch):
    """One line that prints without end took 16 GB within 40 s, of the kernel and of nbgrader, which keeps all of it."""
    pytest.importorskip("nbgrader.preprocessors", reason="pip install 'dshq-widget[instructor]'")
    from nbclient.exceptions import DeadKernelError

    from dshq_widget.lessons import executing

    monkeypatch.setattr(executing, "most_memory", lambda: 1 << 29)
    (tmp_path / "nbgrader_config.py").write_text(assignments.CONFIGURATION)
    course = run(tmp_path / "nbgrader_config.py")

    def ran(source: str) -> Any:
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
        made, _ = executing.ExecuteWithoutSecrets(parent=None, config=course)(notebook, {})
        return made.cells[0].outputs[0]

    assert ran("len(bytearray(1 << 28))").data["text/plain"] == str(1 << 28)
    assert ran("len(bytearray(1 << 30))").ename == "MemoryError"
    monkeypatch.setattr(executing, "MOST_SHOWN", 1 << 20)
    assert ran("print('x' * 1000)").text == "x" * 1000 + "\n"
    left = tmp_path / "left"
    leaves = f"import subprocess\nopen({str(left)!r}, 'w').write(str(subprocess.Popen(['sleep', '600']).pid))\n"
    with pytest.raises(DeadKernelError):
        ran(leaves + "import time\nwhile True:\n    print('x' * 10_000)\n    time.sleep(0.001)")
    sleeps = int(left.read_text())
    until(lambda: not psutil.pid_exists(sleeps) or psutil.Process(sleeps).status() == psutil.STATUS_ZOMBIE)


@pytest.mark.skipif(shutil.which("git") is None, reason="no git")
def test_lessons_are_for_reading_whenever_they_are_pulled(tmp_path: Path):
    """Cloned once, then merged again and again: that is what nbgitpuller does."""
    hooks, course, lessons = (tmp_path / name for name in ("hooks", "course", "lessons"))
    hooks.mkdir()
    for name in ("post-checkout", "post-merge"):
        shutil.copy(DOCS / "read-only-lessons.sh", hooks / name)

    def git(folder: Path, *command: str, hooked: bool = False) -> None:
        settings = [f"core.hooksPath={hooks if hooked else os.devnull}", "user.name=t", "user.email=t@example.org"]
        told = [word for setting in settings for word in ("-c", setting)]
        subprocess.run(["git", *told, *command], cwd=folder, check=True, capture_output=True, timeout=300)

    def publish(text: str) -> None:
        (course / "01.ipynb").write_text(text)
        (course / "data.csv").write_text(text)
        git(course, "add", ".")
        git(course, "commit", "--message", text)

    course.mkdir()
    git(course, "init", "--initial-branch", "main")
    mine = tmp_path / "mine.ipynb"
    mine.write_text("my own")
    (course / "link.ipynb").symlink_to(mine)
    publish("one")
    git(tmp_path, "clone", str(course), str(lessons), hooked=True)
    for text in ("one", "two"):
        publish(f"{text} more")
        git(lessons, "fetch")
        git(lessons, "merge", "origin/main", hooked=True)
        assert (lessons / "01.ipynb").read_text() == f"{text} more"
        assert not (lessons / "01.ipynb").stat().st_mode & 0o222
        assert (lessons / "data.csv").stat().st_mode & 0o200
        assert mine.stat().st_mode & 0o200, "a link is not followed"
