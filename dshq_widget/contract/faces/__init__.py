"""The features that have a folder of their own on the page (js/features), one file each, in the order of their tabs. A
new one is a file, listed here.
"""

from __future__ import annotations

from dshq_widget.contract.faces.coach import COACH
from dshq_widget.contract.faces.dream import DREAM
from dshq_widget.contract.faces.gate import GATE
from dshq_widget.contract.faces.in_page import IN_PAGE
from dshq_widget.contract.faces.league import LEAGUE

FACES = (
    COACH,
    LEAGUE,
    GATE,
    DREAM,
    IN_PAGE,
)
