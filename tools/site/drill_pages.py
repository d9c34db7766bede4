"""A page for each drill: its live match, what docs/reference/drills.md says about it, its facts and commands."""

from __future__ import annotations

import html
import re
from pathlib import Path

from dshq_widget.contract.game_spec import DrillSpec
from dshq_widget.contract.setting import written
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drills import drills
from tools import drill_tables
from tools.site.matches import frame

ROOT = Path(__file__).parents[2]
ABOUT = ROOT / "docs" / "reference" / "drills.md"


def write_all(folder: Path) -> list[str]:
    """Write `index.md`, a gallery, and `NAME.md` for each drill; returns the pages of the drills."""
    folder.mkdir()
    said = descriptions(ABOUT.read_text(encoding="utf-8"))
    specs = {name: compile_drill(drill).spec for name, drill in drills.items()}  # type: ignore[arg-type]  # as any_drill.py
    for name, spec in specs.items():
        (folder / f"{name}.md").write_text(_page(spec, said[name]), encoding="utf-8")
    cards = "".join(_card(spec) for spec in specs.values())
    (folder / "index.md").write_text(
        "---\nhide: [toc]\n---\n# Drills\n\nEvery drill is one file of rules, and every one plays here in the page. "
        "[How well each is learned](../reference/drills.md#how-well-they-are-learned), and "
        "[how to write one](../game-author.md)."
        f'\n\n<div class="cards">\n{cards}</div>\n',
        encoding="utf-8",
    )
    return [f"drills/{name}.md" for name in drills]


def descriptions(text: str) -> dict[str, str]:
    """Drill -> its paragraph in docs/reference/drills.md without its name. Raises KeyError where a drill has none."""
    found = dict(re.findall(r"^\*\*[^*]+\*\* \(`(\w+)`\): (.+?)\n\n", text, re.M | re.S))
    return {name: found[name][0].upper() + found[name][1:] for name in drills}


def _page(spec: DrillSpec, said: str) -> str:
    name, title = spec.name, spec.title
    lead, _, rest = said.partition(". ")
    lead = lead.removesuffix(".") + "."
    rows = "".join(f"| {key} | {value} |\n" for key, value in facts(spec))
    rewards = "".join(f"| `{term.name}` | {term.weight:g} | {term.kind} | {term.help} |\n" for term in spec.terms)
    return f"""---
hide: [toc]
---
# {title}

{lead}

{frame(f"../matches/{name}.html", f"{html.escape(title)}, a live match", lazy=False)}

{rest}

## Facts

| | |
|---|---|
{rows}
## Rewards

| term | weight | kind | meaning |
|---|---|---|---|
{rewards}
{drill_tables.tables(drills[name], level=2)}

## Elsewhere

```
dshq play {name}                                 # in the browser, with training
dshq train {name} --seconds 60 --out {name}.dshq    # train and save a policy
dshq evaluate {name}.dshq                        # how good it is
```

In a notebook: `DrillWidget("{name}")`. As an environment: `make("{name}")`.
"""


def facts(spec: DrillSpec) -> list[tuple[str, str]]:
    """What a drill's compiled form says about it, as pairs of words."""
    rate = spec.tick_rate / spec.action_repeat
    own = dict(spec.training)
    for algorithm, settings in spec.algorithm_settings.items():
        own |= {f"{algorithm}.{key}": value for key, value in settings.items()}
    size = " and ".join(f"{len(choice.options):,}" for choice in spec.actions)
    return [
        ("sides", str(spec.sides)),
        ("longest match", f"{spec.time_limit / spec.tick_rate:g} s of {spec.tick_rate} ticks"),
        ("decisions", f"{rate:.3g} a second, one of {spec.n_actions:,} actions (choices: {size})"),
        ("observations", f"{spec.n_obs} numbers"),
        ("scripts to play against", ", ".join(f"`{script}`" for script in spec.baselines) or "none"),
        ("algorithm", f"`{spec.algorithm}`"),
        ("settings of its own", ", ".join(f"`{key}` {written(v)}" for key, v in own.items()) or "none"),
    ]


def _card(spec: DrillSpec) -> str:
    name = spec.name
    sides = "two sides" if spec.sides == 2 else "one side"
    return (
        f'<a class="card" href="{name}.html"><img src="../images/drills/{name}.png" alt="" loading="lazy">'
        f"<b>{html.escape(spec.title)}</b><span>{sides}</span></a>\n"
    )
