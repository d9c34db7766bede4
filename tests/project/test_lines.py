"""What `tools.lines` counts as a line of code, and where it puts a file."""

from tools.lines import count, part, room

PYTHON = '''"""A docstring
of two lines."""

SIZE = 3  # a comment behind code
"""What it is, in a line of its own."""
# a comment


def area(
    side: int,
) -> int:
    """A docstring."""
    return side * SIZE + len("""a text
that is used""")
'''
TYPESCRIPT = """// a comment
const size = 3; // behind code
/* one
   of many lines */

export const area = (side: number) =>
  side * size;
"""


def test_comments_docstrings_and_empty_lines_are_no_code():
    assert count("dshq_widget/area.py", PYTHON) == 6
    assert count("js/area.ts", TYPESCRIPT) == 3


def test_a_file_belongs_to_one_part_and_one_room():
    places = {
        "dshq_widget/algorithms/ppo/run.py": ("dshq_widget", "dshq_widget/algorithms"),
        "kernels/dshq_kernels/play/loops.py": ("kernels", "kernels/dshq_kernels/play"),
        "js/match/show.ts": ("js", "js/match"),
        "js/page.ts": ("js", "js"),
        "js/features/gate/panel/dials.ts": ("js", "js/features/gate"),
    }
    assert {name: (part(name), room(name)) for name in places} == places
    assert part("js/tests/match/show.test.ts") == part("js/features/gate/tests/gate.test.ts") == "js/tests"
    assert [part(name) for name in ("dshq_widget/static/widget.js", "docs/reference/rules.md", "package.json")] == [
        None
    ] * 3
