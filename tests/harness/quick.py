"""`make quick`: the tests of single units. No browser, no child that trains, and numba compiles nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness.apart import TESTS

QUICK = (
    "contract/test_protocol.py",
    "contract/test_run_file.py",
    "contract/test_sections.py",
    "contract/test_settings.py",
    "kernels/test_machine_code.py",
    "kernels/test_rules_messages.py",
    "learning/test_trackers.py",
    "lessons/test_glossary.py",
    "lessons/test_quotes.py",
    "policy/test_export_json.py",
    "project/test_costs.py",
    "project/test_imports.py",
    "project/test_lines.py",
    "project/test_ppo_details.py",
    "project/test_typescript_imports.py",
    "runtime/test_budget.py",
    "runtime/test_slots_orders.py",
)
"""Files below tests/. Their tests fail in `make quick` if numba compiles something in them."""


def is_quick(item: pytest.Item) -> bool:
    """Whether `make quick` runs it."""
    slow = any(item.get_closest_marker(name) for name in ("slow", "peers", "gpu"))
    return not slow and Path(item.path).relative_to(TESTS).as_posix() in QUICK
