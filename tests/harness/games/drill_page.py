"""The drill that the page on adding drills shows."""

from pathlib import Path

import dshq_widget.env.check

PAGE = (Path(dshq_widget.env.check.__file__).parents[1] / "drills" / "README.md").read_text()

LESSON = PAGE.split("```python\n")[1].split("```")[0]
"""The whole drill of the page for authors."""
