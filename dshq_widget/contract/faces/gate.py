"""What the gate says to each proposal."""

from __future__ import annotations

from dshq_widget.contract.face import Face

GATE = Face(
    "gate",
    "how the gate judges each proposal",
    controls={"tab-gate": "Gate", "gate-map": "Expected reward map", "gate-map-kind": "Parasite"},
    patterns={"dial-KEY": "a setting of the gate as a number in the tab Gate; `dial-KEY-slider` is its slider"},
)
