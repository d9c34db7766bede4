"""The documents name what is there: README's tree has every source file, and every link and path leads somewhere."""

import re
import subprocess
from pathlib import Path

import pytest

from dshq_widget.drill.palette import PAINTS

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
TREES = ("kernels", "dshq_widget", "js", "benchmarks", "tools")
UNSUNG = re.compile(r"(__init__\.py|\.test\.ts|\.md|\.json|py\.typed|\.dshq)$|/(tests|testing|results|static)/")


def tree_paths() -> set[str]:
    """Every file that README's tree names: folders end in a slash, depth is two spaces, a role follows two spaces."""
    block = re.search(r"```\n(kernels/.*?)```", (ROOT / "README.md").read_text(), re.S)
    folders: list[str] = []
    paths = set()
    for line in block[1].splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        names = re.match(r"\s*((?:[\w.]+/)+|[\w.]+\.\w+(?:  [\w.]+\.\w+)*)", line)[1]
        if names.endswith("/"):
            folders[depth:] = [names]
        else:
            paths |= {"".join(folders[:depth]) + name for name in names.split()}
    return paths


def test_the_tree_of_the_readme_is_the_tree():
    listed = subprocess.run(["git", "ls-files", *TREES], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    named = tree_paths()
    assert {path for path in named if not (ROOT / path).exists()} == set()
    assert {path for path in listed.stdout.split() if not UNSUNG.search(path)} - named == set()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path):
    targets = re.findall(r"\]\(([^)#]+)\)", document.read_text())
    local = [target for target in targets if "://" not in target and not target.startswith("docs/images/")]
    assert [target for target in local if not (document.parent / target).exists()] == []


def test_the_pictures_of_the_readme_are_there():
    pictures = re.findall(r"!\[[^]]*\]\(([^)]+)\)", (ROOT / "README.md").read_text())
    assert [picture for picture in pictures if not (ROOT / picture).exists()] == []


def test_the_page_of_the_rules_names_every_paint():
    page = (ROOT / "docs" / "rules.md").read_text()
    named = re.search(r"palette\.py\): ([\w,\s]+)\.", page)
    assert named and sorted(re.findall(r"\w+", named[1])) == sorted(PAINTS)
