"""The features that have a part in the kernel's half of the widget: a line each."""

from __future__ import annotations

from dshq_widget.widget.in_page.place import InPage
from dshq_widget.widget.part import Part

PARTS: list[type[Part]] = [
    InPage,
]
