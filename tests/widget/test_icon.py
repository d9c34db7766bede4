"""The project's icon is the same everywhere, and no page asks anybody for it."""

from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

from dshq_widget.contract.icon import ICON, SVG
from dshq_widget.widget import play_server

ROOT = Path(__file__).parents[2]


def test_the_icon_is_one_drawing():
    assert (ROOT / "docs/images/logo.svg").read_text().strip() == SVG == unquote(ICON.partition(",")[2])
    assert ElementTree.fromstring(SVG).get("viewBox") == "0 0 64 64"


def test_pages_carry_it():
    link = f'<link rel="icon" href="{ICON}">'
    assert link in (ROOT / "dshq_widget/classroom/service/templates/base.html").read_text()
    assert link in play_server._PAGE.replace("{icon}", ICON)
    assert "img-src 'self' data:" in play_server.POLICY
