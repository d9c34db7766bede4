"""What the documents write as code is there: commands and their options, variables, modules, names, messages, files."""

from __future__ import annotations

import ast
import inspect
import re
import shlex
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

import dshq_widget
from dshq_widget.algorithms import algorithms
from dshq_widget.classroom.verbs import VERBS as CLASSROOM
from dshq_widget.cli.arguments import parser
from dshq_widget.cli.main import VERBS
from dshq_widget.contract import protocol, settings
from dshq_widget.training.trainer import Trainer
from dshq_widget.widget.drill_widget import DrillWidget
from tests.harness.documents import DOCUMENTS, FOLDERS, ROOT, code_of, files, is_file

CODE = {path: code_of(path) for path in DOCUMENTS}
SPANS = {span for code in CODE.values() for span in code.spans}
TYPED = {line.strip() for code in CODE.values() for _, block in code.blocks for line in block.splitlines()} | SPANS
"""Lines of blocks, and spans."""
READ = {".py", ".ts", ".mjs", ".js", ".wgsl", ".css", ".html", ".yaml", ".yml", ".toml", ".sh", ".json", ""}

OPTIONS = {
    "pip": "--find-links --force-reinstall --index-url --no-index --proxy --quiet",
    "ray start": "--address --disable-usage-stats --head --include-dashboard --max-worker-port --min-worker-port "
    "--no-monitor --node-manager-port --num-cpus --object-manager-port --runtime-env-agent-port",
    "torchrun": "--master-addr --master-port --no-python --nproc-per-node",
    "any option": "--flag-with-dashes --help --gate-KEY --spo-KEY --dreamer-KEY",
}
"""Options of other programs, by whose they are."""
OTHERS = {
    "Jupyter": "WidgetRenderer.renderModel display_id jupyter_server_config.py c.JupyterHub.subdomain_host "
    "GenericOAuthenticator manage_groups auth_state_groups_key",
    "Ray": "gcs_server RAY_USE_TLS",
    "databases, proxies and web servers": "pg_dump HTTPS_PROXY vercel.json",
    "other libraries' source": "benchmark.md ff_spo.py img/learning_curves.gif ppo_atari.py ppo_continuous_action.py",
    "numba": ".numba_config.yaml",
    "the reader's files": "slider.py numpy.py run.yaml D/run.yaml lesson.ipynb",
    "VS Code": "notebook.experimental.enableCsp",
}
"""Names that are not ours, by whose they are."""
NOT_OURS = {name for names in OTHERS.values() for name in names.split()}
BUILT = re.compile(
    r"docs/lessons|dshq_kernels/machine_code|instructor/|(slides|notes|keys)/|.*(NN|NAME|my_drill)|dist/"
)
"""Paths that a command makes, or that stand for many."""
INTERNAL = {"DSHQ_HUB_DEMO"}
"""Variables by which processes of the package speak to each other."""


@cache
def words() -> set[str]:
    """Every word of the code, and of the names of its files."""
    sources = [path for name, path in files().items() if path.suffix in READ and not name.endswith(".lock")]
    sources = [path for path in sources if not {"static", "results", Path(__file__).name} & {*path.parts}]
    found = {word for path in sources for word in re.findall(r"\w+", path.read_text("utf-8", "ignore"))}
    return found | {word for name in files() for word in re.findall(r"\w+", name)}


@cache
def options() -> dict[str, set[str]]:
    """The options of each verb of `dshq`."""
    (offered,) = (one for one in parser((*VERBS, *CLASSROOM))._actions if one.dest == "verb")
    assert isinstance(offered.choices, dict)
    return {
        verb: {flag for one in own._actions for flag in one.option_strings} for verb, own in offered.choices.items()
    }


def commands() -> Iterator[list[str]]:
    """Every command `dshq VERB ...` that is written out, as words."""
    for line in TYPED:
        if match := re.match(r"(?:-m dshq_widget\.cli|!?dshq) ([a-z]+)\b.*", line):
            typed = re.split(r"\s#|\s[|>&]", match[0].replace("\\", ""))[0]
            yield shlex.split(typed, posix=True)


def test_commands_are_verbs_with_their_options():
    found = list(commands())
    assert len(found) > 100
    assert {words[1] for words in found} - {*options()} == set()
    assert {*options()} - {words[1] for words in found} == set(), "each verb stands in a document"
    of_an_example = "--reinforce-baseline"
    wrong = [
        " ".join(words)
        for words in found
        for word in words
        if word.startswith("--") and word.split("=")[0] not in {*options()[words[1]], of_an_example}
    ]
    assert wrong == []


def test_options_that_stand_alone_are_somebodys():
    others = {flag for flags in OPTIONS.values() for flag in flags.split()}
    known = others.union(*options().values())
    named = {re.split(r"[ =\[]", span)[0] for span in SPANS if re.match(r"--[a-z]", span)}
    assert sorted(named - known) == [], "no verb of dshq has them; list those of other programs in OPTIONS"
    text = "\n".join(TYPED)
    assert [flag for flag in sorted(others) if flag not in text] == [], "no document names them any more"


def test_verbs_of_make_are_in_the_makefile():
    made = set(re.findall(r"(?m)^([a-z][a-z-]*):", (ROOT / "Makefile").read_text()))
    named = {match[1] for line in TYPED if (match := re.match(r"make ([a-z][a-z-]*)\b", line))}
    assert len(named) > 12 and named - made == set()


def test_modules_that_are_run_are_there():
    ours = {name for line in TYPED for name in re.findall(r"python -m ((?:tools|benchmarks|dshq_widget)[\w.]*)", line)}
    assert len(ours) > 30
    paths = [name.replace(".", "/") for name in sorted(ours)]
    assert [path for path in paths if not {f"{path}.py", f"{path}/__main__.py"} & {*files()}] == []


def test_variables_are_read_and_each_has_its_row():
    pattern = re.compile(r"\bDSHQ_[A-Z_]*[A-Z]\b")
    product = [path for name, path in files().items() if name.startswith(("dshq_widget/", "kernels/", "hatch_build"))]
    texts = [path.read_text("utf-8") for path in product if path.suffix == ".py"]
    read = {name for text in texts for name in pattern.findall(text)} - INTERNAL
    named = {name for line in TYPED for name in pattern.findall(line)}
    assert named - read == set()
    rows = set(re.findall(r"(?m)^\| `(DSHQ_\w+)` \|", (ROOT / "docs/reference/environment.md").read_text()))
    assert rows == read


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_paths_and_names_are_those_of_the_code(path: Path):
    """A span that is one word: a path is a file's, or its end; a name of several words is somewhere in the code."""
    wrong = []
    for span in CODE[path].spans:
        if span in NOT_OURS or BUILT.match(span) or re.search(r"\s|::|[(<{*…]", span):
            continue
        if re.fullmatch(r"(?![A-Z]\w*\.wgsl)[\w./-]+\.(py|ts|js|css|md|ya?ml|json|ipynb|sh|wgsl|toml)", span) or (
            span.startswith(tuple(f"{folder}/" for folder in FOLDERS))
        ):
            known = is_file(span.rstrip("/"))
        elif re.fullmatch(r"\w+(\.\w+)*", span) and re.search(r"[a-z]_[a-z]|[a-z][A-Z]|[A-Z]_[A-Z]", span):
            known = set(span.split(".")) <= words() | {"w"}
        else:
            continue
        if not known:
            wrong.append(span)
    assert wrong == [], "the code has no such file or name; list names of others in OTHERS"


def test_names_of_others_are_named():
    text = "\n".join(TYPED)
    assert [name for name in sorted(NOT_OURS) if name not in text] == []


def test_tests_that_documents_name_are_there():
    named = {tuple(span.split("::")) for span in SPANS if re.fullmatch(r"([\w/]+\.py::(\w+::)?)?test_\w+", span)}
    assert len(named) > 100
    files_of = {name: path.read_text("utf-8") for name, path in files().items() if re.match(r"tests/.*\.py$", name)}
    written = {(name, test) for name, text in files_of.items() for test in re.findall(r"\bdef (test_\w+)\(", text)}
    wrong = [
        "::".join(one)
        for one in sorted(named)
        if not any(one[-1] == test and (len(one) == 1 or f"/{name}".endswith(f"/{one[0]}")) for name, test in written)
    ]
    assert wrong == []


KEYWORDS = {*settings.FIELDS, *settings.ALIASES, settings.DIVISOR, *algorithms, "reinforce"}
CALLED: dict[str, Callable[..., object]] = {
    **{name: getattr(dshq_widget, name) for name in dshq_widget.__all__ if callable(getattr(dshq_widget, name))},
    "w": DrillWidget,
    "trainer": Trainer,
    "t": Trainer,
}
"""What a name at the head of a call is, in Python that documents show."""


def calls() -> Iterator[ast.Call]:
    """Every call in Python of the documents."""
    for code in CODE.values():
        for text in (*code.spans, *(block for language, block in code.blocks if language == "python")):
            try:
                tree = ast.parse(text.replace("(...)", "()").replace("=, ", "=0, ").replace("=)", "=0)"))
            except SyntaxError:
                continue
            yield from (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def test_calls_take_the_keywords_that_they_are_given():
    wrong, seen = [], 0
    for call in calls():
        head = call.func.value if isinstance(call.func, ast.Attribute) else call.func
        if not isinstance(head, ast.Name) or head.id not in CALLED:
            continue
        called: object = CALLED[head.id]
        if isinstance(call.func, ast.Attribute):
            called = getattr(called, call.func.attr, None)
        seen += 1
        if called is None:
            wrong.append(ast.unparse(call))
            continue
        takes = inspect.signature(called).parameters  # type: ignore[arg-type]
        more = any(one.kind is one.VAR_KEYWORD for one in takes.values())
        known = {*takes} | (KEYWORDS if more else set())
        if called is DrillWidget:
            known |= {*inspect.signature(Trainer).parameters, *protocol.SHOW_DEFAULTS}
        if more and called in (dshq_widget.make, dshq_widget.make_vec, dshq_widget.make_parallel):
            continue  # tests/project/test_api.py
        given = {keyword.arg for keyword in call.keywords if keyword.arg}
        wrong += [f"{name}: {ast.unparse(call)}" for name in sorted(given - known)]
    assert seen > 100 and wrong == []


def first_cells(text: str, head: str) -> str:
    """The first cells of the table that begins with this head."""
    table = text[text.index(head) :].split("\n\n")[0]
    return "\n".join(re.findall(r"(?m)^\| ([^|]+) \|", table))


OF_THE_WIDGET = {"gentle", "keep_in", "start"}
"""What the widget alone gives its trainer."""


@pytest.mark.parametrize(
    ("public", "page", "pattern"),
    [(Trainer, "python.md", r"`(\w+)(?:\([^`]*)?`"), (DrillWidget, "widget.md", r"`w\.(\w+)(?:\([^`]*)?`")],
    ids=["Trainer", "DrillWidget"],
)
def test_the_reference_has_every_keyword_and_only_what_is_there(public, page, pattern):
    text = (ROOT / "docs" / "reference" / page).read_text()
    takes = inspect.signature(public).parameters.items()
    keywords = {name for name, one in takes if one.kind is one.KEYWORD_ONLY} - OF_THE_WIDGET
    if public is DrillWidget:
        keywords = (keywords | {*protocol.SHOW_DEFAULTS} - {"match"}) - {*inspect.signature(Trainer).parameters}
    named = set(re.findall(r"`(\w+)[`=]", first_cells(text, "| keyword |")))
    assert keywords - named == set()
    members = set(re.findall(pattern, first_cells(text, "| call |")))
    assert len(members) > 20 and [name for name in sorted(members) if not hasattr(public, name)] == []


def test_architecture_has_every_trait_and_every_message_of_the_page():
    text = (ROOT / "docs" / "architecture.md").read_text()
    traits = [
        name for name, one in DrillWidget.class_own_traits().items() if one.metadata.get("sync") and name != "_esm"
    ]
    assert [name for name in traits if not re.search(rf"`{name}[` ]", text)] == []
    show = re.search(r"`show \{([^}]*)\}", text)
    assert show and show[1].split(", ") == [*protocol.SHOW_DEFAULTS]
    sources = [ROOT / "js/contract/protocol.ts", *(ROOT / "js/features").glob("*/messages.ts")]
    source = "\n".join(path.read_text("utf-8") for path in sources)
    types = {*re.findall(r'type: "([A-Z_]+)"', source), *re.findall(r"(?m)^    ([A-Z_]+): ", source)}
    assert len(types) > 45 and [name for name in sorted(types) if not re.search(rf"`{name}[` ]", text)] == []


def test_architecture_has_every_shared_setting_and_every_part_of_a_feature():
    text = (ROOT / "docs" / "architecture.md").read_text()
    readers = text[text.index("| reader | settings |") :].split("\n\n")[0]
    assert set(re.findall(r"`([a-z_]+)`", readers)) == {*settings.FIELDS}
    halves = text[text.index("| half | brings |") :].split("\n\n")[0]
    plug = (ROOT / "js/features/plug.ts").read_text("utf-8")
    interfaces = re.findall(r"interface (?:PageFeature|MatchPart) \{(.*?)\n\}", plug, re.S)
    brought = {name for one in interfaces for name in re.findall(r"(?m)^  (?:readonly )?(\w+)\?[:(]", one)}
    assert len(brought) > 10 and [name for name in sorted(brought) if f"`{name}`" not in halves] == []


def test_every_document_is_two_clicks_from_their_list():
    reached = {(ROOT / "docs" / "README.md").resolve()}
    for _ in range(2):
        pages = [page for page in reached if page.suffix == ".md"]
        links = {(page, link) for page in pages for link in re.findall(r"\]\(([^):#\s]+)", page.read_text("utf-8"))}
        reached |= {there for page, link in links if (there := (page.parent / link).resolve()).is_file()}
    left = {path.resolve() for path in DOCUMENTS} - reached - {(ROOT / "README.md").resolve()}
    assert sorted(map(str, left)) == []


def test_the_list_of_documents_has_every_room():
    text = (ROOT / "docs" / "README.md").read_text()
    block = text[text.index("## The rooms") :]
    rooms = [path for folder in ("dshq_widget", "kernels/dshq_kernels", "js") for path in (ROOT / folder).iterdir()]
    named = [path.name for path in rooms if path.is_dir() and path.name not in ("__pycache__", "tests", "machine_code")]
    assert [name for name in sorted(named) if not re.search(rf"\b{name}\b", block)] == []
