"""Scenes to practise, arranged on the pitch."""

from __future__ import annotations

from dshq_widget.contract.face import Face

COACH = Face(
    "coach",
    "scenes to practise, arranged by dragging things",
    before="hyper",
    learns=True,
    controls={"drill-this": "Drill this", "tab-coach": "Coach", "scene-share": "Share of practice games"},
    patterns={"remove-scene-N": "the N-th scene, counted from 1: Remove scene N"},
)
