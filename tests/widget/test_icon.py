"""The project's icon is one drawing."""

from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

from dshq_widget.contract.icon import ICON, SVG

ROOT = Path(__file__).parents[2]


def test_the_icon_is_one_drawing():
    assert (ROOT / "docs/images/logo.svg").read_text().strip() == SVG == unquote(ICON.partition(",")[2])
    assert ElementTree.fromstring(SVG).get("viewBox") == "0 0 64 64"
