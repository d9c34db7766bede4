"""The project's icon is one drawing."""

from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest

from dshq_widget.contract.icon import ICON, SVG
from dshq_widget.widget import export_html, play_server
from tools import pages
from tools.instructor import slides

ROOT = Path(__file__).parents[2]


def test_the_icon_is_one_drawing():
    assert (ROOT / "docs/images/logo.svg").read_text().strip() == SVG == unquote(ICON.partition(",")[2])
    assert ElementTree.fromstring(SVG).get("viewBox") == "0 0 64 64"


@pytest.mark.parametrize("module", [export_html, play_server, pages, slides], ids=lambda module: module.__name__)
def test_every_page_of_its_own_has_it(module):
    assert '<link rel="icon" href="{icon}">\n' in module._PAGE


def test_an_exported_page_has_it(monkeypatch):
    monkeypatch.setattr(export_html, "match_of", lambda *_: {})
    text = export_html.document({"drill": {"spec": {"title": "A game"}}}, "", "")
    assert f'<link rel="icon" href="{ICON}">' in text
