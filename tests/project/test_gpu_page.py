"""docs/howto/gpu.md: what each path was proved by in place of a GPU."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_path_names_tests_that_are_there_and_need_no_gpu():
    page = (ROOT / "docs/howto/gpu.md").read_text(encoding="utf-8")
    rows = re.search(r"\| path \|.*?\n\n", page, re.S)[0].strip().splitlines()[2:]
    tests = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    assert len(rows) >= 14
    for row in rows:
        names = re.findall(r"`(test_\w+)`", row)
        assert names, row
        for name in names:
            found = re.search(rf"((?:^ *@.*\n)*) *def {name}\(", tests, re.M)
            assert found, f"no test {name}"
            assert "@pytest.mark.gpu" not in found[1], f"{name} needs a GPU"
