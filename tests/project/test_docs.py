"""The links of the documents lead somewhere, and what they repeat of the code is as it is there."""

import re
from fnmatch import fnmatch
from pathlib import Path

import pytest

from dshq_widget.cli import drill_argument
from dshq_widget.contract.version import __version__
from dshq_widget.drill.palette import PAINTS
from dshq_widget.env import check
from tests.harness.documents import DOCUMENTS, LOG, ROOT

ALL = [*DOCUMENTS, LOG, *sorted(ROOT.glob("*.md"))]
LINKED = {str(path.relative_to(ROOT)): path for path in ALL}
"""Also those whose links must work, but whose paths were true when they were written."""
TEXTS = [*DOCUMENTS, *sorted((ROOT / "notebooks" / "source").glob("*.md"))]


@pytest.mark.parametrize("document", LINKED.values(), ids=LINKED)
def test_links_lead_somewhere(document: Path):
    targets = re.findall(r"\]\(([^)#]+)\)", document.read_text())
    local = [target for target in targets if "://" not in target and not target.startswith("docs/images/")]
    assert [target for target in local if not (document.parent / target).is_file()] == []


@pytest.mark.parametrize("document", LINKED.values(), ids=LINKED)
def test_links_to_a_part_name_a_heading(document: Path):
    """By GitHub's rule: small letters, no punctuation, a hyphen for each space."""

    def anchors(path: Path) -> set[str]:
        headings = re.findall(r"(?m)^#+ (.+)$", re.sub(r"```.*?```", "", path.read_text(), flags=re.S))
        return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}

    linked = re.findall(r"\]\(([^):#\s]*\.md)?#([^)\s]+)\)", document.read_text())
    pages = [(document.parent / path if path else document, part) for path, part in linked]
    assert [f"{page.name}#{part}" for page, part in pages if part not in anchors(page)] == []


@pytest.mark.parametrize("text", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_decimals_begin_with_a_zero(text: Path):
    """0.5 in prose and in tables; code between backquotes is as it is."""
    prose = re.sub(r"```.*?```|`[^`\n]+`", "", text.read_text(encoding="utf-8"), flags=re.S)
    assert re.findall(r"(?:^|[\s(|~≈±])\.\d+", prose, re.M) == []


def test_the_pictures_of_the_readme_are_there():
    pictures = re.findall(r"!\[[^]]*\]\(([^)]+)\)", (ROOT / "README.md").read_text())
    assert [picture for picture in pictures if not (ROOT / picture).exists()] == []


def test_the_figures_of_the_readme_are_those_of_their_page():
    text = (ROOT / "README.md").read_text()
    table = text[text.index("| | this package | other libraries |") :].split("\n\n")[0]
    figures = re.findall(r"\d[\d,.]*(?: million)?", "".join(re.findall(r"(?m)^\|[^|]*(\|.*)$", table)))
    page = (ROOT / "docs" / "explain" / "figures.md").read_text()
    assert len(figures) > 8 and [figure for figure in figures if figure.rstrip(",.") not in page] == []


def test_the_wheel_that_they_name_is_that_of_this_version():
    pages = [*DOCUMENTS, ROOT / "tools" / "site" / "pages" / "index.md"]
    named = {name for page in pages for name in re.findall(r"dshq_widget-[\w.]+-[\w-]+\.whl", page.read_text())}
    assert f"dshq_widget-{__version__}-py3-none-any.whl" in named
    assert {name.split("-")[1] for name in named} == {__version__}


def test_badges_lead_to_notebooks_that_are_there_and_to_one_address():
    page = (ROOT / "docs" / "howto" / "colab.md").read_text()
    badges = re.findall(r"https://[\w.]+(?:/v2/gh|/github)/([\w-]+/[\w.-]+)/[\w/.?=]*?(notebooks/\w+\.ipynb)\)", page)
    assert len(badges) == 2 and len({address for address, _ in badges}) == 1
    assert [path for _, path in badges if not (ROOT / path).exists()] == []
    assert f"github.com/{badges[0][0]}/releases/download/v{__version__}/dshq_widget-{__version__}-" in page
    elsewhere = [path for path in ALL if "OWNER/REPOSITORY" in path.read_text() and path.name != "colab.md"]
    assert elsewhere == []


def test_the_page_of_the_rules_names_every_paint():
    page = (ROOT / "docs" / "reference" / "rules.md").read_text()
    named = re.search(r"palette\.py\): ([\w,\s]+)\.", page)
    assert named and sorted(re.findall(r"\w+", named[1])) == sorted(PAINTS)


def test_the_first_game_passes_every_check(tmp_path):
    page = (ROOT / "docs" / "start" / "first-game.md").read_text()
    [code] = re.findall(r"```python\n([^`]*class \w+\(Drill\).*?)```", page, re.S)
    file = tmp_path / "slider.py"
    file.write_text(code)
    assert [finding for finding in check.suite(drill_argument.drill(str(file))) if finding.ok is False] == []


def test_a_raw_result_stands_behind_a_figure_and_the_other_way_round():
    """Each is named by a document or the log, whole or with a star, and what they name is there."""
    of_a_day = r"([\w*-]+[-_](?:2026-\d\d-\d\d[\w-]*|\*)\.json)\b"
    named = {name for page in ALL for name in re.findall(of_a_day, page.read_text())}
    kept = [path.name for path in sorted((ROOT / "benchmarks" / "results").iterdir())]
    assert [name for name in kept if not any(fnmatch(name, pattern) for pattern in named)] == []
    assert [pattern for pattern in sorted(named) if not any(fnmatch(name, pattern) for name in kept)] == []
