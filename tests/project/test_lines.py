"""What `tools.lines` counts as a line of code."""

from tools.lines import count

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
