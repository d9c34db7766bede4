"""The reference: pages on which mkdocstrings shows the public names of `dshq_widget` and the kernels' modules."""

from __future__ import annotations

from pathlib import Path

import dshq_kernels
import dshq_widget

GROUPS = {
    "widget": ("The widget", ("DrillWidget",)),
    "trainer": ("Training", ("Trainer", "TrainConfig", "ConfigError", "read_metrics")),
    "experiments": ("Experiments", ("sweep", "evaluate")),
    "policy": (
        "Policies",
        ("load_policy", "save_policy", "Policy", "save_onnx", "save_json", "CheckpointError", "ExportError"),
    ),
    "drill": (
        "Games",
        (
            *("Drill", "rule", "Choice", "Observation", "Handle", "Cells", "Grid", "Pairs"),
            *("compile_drill", "CompiledDrill", "RulesError", "debug", "drills"),
        ),
    ),
    "environments": ("Environments", ("make", "make_vec", "make_parallel", "register_environments")),
}
"""Page -> its title and the public names on it."""

FLAT_MODULES = ("dshq_widget.drills",)
"""Modules whose files have pages of their own elsewhere."""
FLAT = "\n    options:\n      show_submodules: false"


def write_all(folder: Path) -> list[str]:
    """Write `index.md` and a page for each group and each room of the kernels; returns the latter's names.

    Raises ValueError where a public name stands in no group, or one that stands there is not public.
    """
    shown = {name for _, names in GROUPS.values() for name in names}
    public = {name for name in dshq_widget.__all__ if not name.startswith("_")}
    if shown != public:
        raise ValueError(f"GROUPS must have every public name once; these differ: {sorted(shown ^ public)}")
    pages = {name: (title, [f"dshq_widget.{member}" for member in names]) for name, (title, names) in GROUPS.items()}
    for room in sorted(path.parent.name for path in Path(dshq_kernels.__file__).parent.glob("*/__init__.py")):
        pages[f"kernels-{room}"] = (f"Kernels: {room}", [f"dshq_kernels.{room}"])
    folder.mkdir()
    for name, (title, members) in pages.items():
        body = "\n\n".join(f"::: {member}" + FLAT * (member in FLAT_MODULES) for member in members)
        (folder / f"{name}.md").write_text(f"# {title}\n\n{body}\n", encoding="utf-8")
    rows = "".join(f"- [{title}]({name}.md)\n" for name, (title, _) in pages.items())
    (folder / "index.md").write_text(
        "# Reference\n\nWritten from the docstrings. Every name outside the kernels is imported from `dshq_widget`."
        f"\n\n{rows}\n[Every setting and metric](../reference/settings.md).\n",
        encoding="utf-8",
    )
    return [f"api/{name}.md" for name in pages]
