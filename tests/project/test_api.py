"""docs/reference/python.md names everything public, and its examples run."""

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dshq_widget
from dshq_widget.env.gym_envs import DrillEnv, DrillVectorEnv
from tools.site import api

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "reference" / "python.md").read_text()


def test_everything_public_is_on_the_page_and_in_the_reference():
    missing = [name for name in dshq_widget.__all__ if f"`{name}`" not in PAGE]
    assert missing == [], "describe them in docs/reference/python.md"
    shown = [name for _, names in api.GROUPS.values() for name in names]
    assert sorted(shown) == sorted(name for name in dshq_widget.__all__ if not name.startswith("_"))


@pytest.mark.parametrize("name", dshq_widget.__all__)
def test_each_public_name_is_there_and_says_what_it_is(name):
    public = getattr(dshq_widget, name)
    assert isinstance(public, str) or inspect.getdoc(public)


def test_the_imports_for_type_checkers_are_the_public_names():
    tree = ast.parse(Path(dshq_widget.__file__).read_text())
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    lines = [one for one in block.body if isinstance(one, ast.ImportFrom) and one.module != "typing"]
    names = {one.name for line in lines for one in line.names}
    assert names | {"__version__"} == set(dshq_widget.__all__)


@pytest.mark.parametrize("made", [DrillEnv, DrillVectorEnv])
def test_every_option_of_an_environment_is_described(made):
    table = (DOCS / "howto" / "other-libraries.md").read_text()
    options = {"seed", "practice", "weights", "shaping", "gamma", "render_mode", "render_width"}
    named = {name for name, one in inspect.signature(made).parameters.items() if one.kind is one.KEYWORD_ONLY}
    options |= named - {"options"}
    assert [name for name in sorted(options) if f"`{name}`" not in table or f"`{name}`" not in PAGE] == []


@pytest.mark.slow
def test_the_examples_run_from_top_to_bottom(tmp_path):
    """In one process of their own, as a reader would."""
    pytest.importorskip("optuna", reason="the extra `sweep` is not installed (Optuna)")
    pages = PAGE, (DOCS / "howto" / "tune.md").read_text()
    code = [one for page in pages for one in re.findall(r"```python\n(.*?)```", page, re.S)]
    assert code and all("from dshq_widget import" in one for one in code)
    script = tmp_path / "examples.py"
    script.write_text("\n".join(code))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=600, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "gamma must be a number from 0 to 1, got 1.5" in done.stdout
    assert {path.name for path in tmp_path.iterdir()} >= {"match.html", "bot.dshq", "gold.json", "logs", "sweep"}
