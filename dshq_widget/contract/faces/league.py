"""The league of a run's earlier policies."""

from __future__ import annotations

from dshq_widget.contract.face import Face

LEAGUE = Face(
    "league",
    "the strength of the champion, the newest and earlier versions",
    before="hyper",
    learns=True,
    controls={"tab-league": "League"},
    patterns={"meet-PLAYER": "a row of the league: Let the newest policy play against PLAYER"},
)
