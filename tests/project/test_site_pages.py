"""What tools/site writes for mkdocs: links as the site has them, and every drill described."""

import re

import pytest
import yaml

from dshq_widget.drills import drills
from tools.site import documents, drill_pages, matches

RULES = ("docs/reference/rules.md", "reference/rules.md")


@pytest.mark.parametrize(
    ("document", "page", "link", "there"),
    [
        (*RULES, "../../dshq_widget/drills/README.md", "../write-a-drill.md"),
        (*RULES, "../../notebooks/20_write_your_own_drill.ipynb", "../lessons/20_write_your_own_drill.md"),
        (*RULES, "../examples/magpie.py", "../sources/docs/examples/magpie.py.md"),
        ("docs/classroom/README.md", "classroom/README.md", "../howto/gpu.md", "../howto/gpu.md"),
        ("dshq_widget/drills/README.md", "write-a-drill.md", "../../docs/howto/gpu.md", "howto/gpu.md"),
        ("docs/reference/drills.md", "reference/drills.md", "../images/drills/sumo.png", "../images/drills/sumo.png"),
        ("docs/architecture.md", "architecture.md", "../README.md", "index.md"),
        ("docs/howto/gpu.md", "howto/gpu.md", "https://example.org/a.md", "https://example.org/a.md"),
        ("docs/README.md", "documents.md", "start/install.md", "start/install.md"),
        ("docs/start/install.md", "start/install.md", "../README.md", "../documents.md"),
    ],
)
def test_links_lead_where_the_site_has_the_file(document, page, link, there):
    text, sources = documents.rewritten(f"See [it]({link}#part) and `x[1](y)`.", document, page)
    assert text == f"See [it]({there}#part) and `x[1](y)`."
    assert sources == ({"docs/examples/magpie.py"} if "sources" in there else set())


def test_every_document_is_in_the_navigation():
    """Every page of the documents is one that a reader of the site finds in a menu."""
    site = yaml.load((documents.ROOT / "mkdocs.yml").read_text(encoding="utf-8"), yaml.BaseLoader)
    named = set(pages(site["nav"]))
    assert [page for page in documents.DOCUMENTS.values() if page not in named] == []


def pages(menu):
    """The pages of a menu and of the menus in it."""
    if isinstance(menu, str):
        return [menu]
    return [page for part in (menu.values() if isinstance(menu, dict) else menu) for page in pages(part)]


def test_every_drill_is_described_and_has_a_picture():
    said = drill_pages.descriptions(drill_pages.ABOUT.read_text(encoding="utf-8"))
    assert list(said) == list(drills) and all(len(text) > 40 for text in said.values())
    assert [name for name in drills if not (drill_pages.ROOT / f"docs/images/drills/{name}.png").is_file()] == []


def test_the_cards_of_the_ladder_have_the_figures_of_its_table():
    figures = (documents.ROOT / "docs/explain/figures.md").read_text(encoding="utf-8")
    table = dict(re.findall(r"^\| (\w+ against \w+) \|.*\| ([\d.]+) % \|$", figures, re.MULTILINE))
    cards = (documents.ROOT / "tools/site/pages/play/index.md").read_text(encoding="utf-8")
    won = re.findall(r'href="(\w+)\.html".*Wins (\d+) % of decided matches against (?:the )?(\w+)\.', cards)
    assert [rung for rung, _, _ in won] == ["bronze", "silver", "gold"]
    for rung, share, other in won:
        measured = table[f"{rung} against {'chaser' if other == 'script' else other}"]
        assert share == f"{float(measured):.0f}", (rung, other)


def test_a_page_that_does_not_end_cannot_be_framed():
    with pytest.raises(ValueError, match="must end with </html>, got '<p>'"):
        matches.framed("<p>")
