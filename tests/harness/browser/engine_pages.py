"""The widget and the notebook around it in any engine, as a person uses them: by keys, pointer and what is seen."""

from pathlib import Path
from typing import Any

from tests.harness.browser.engines import ANSWER_SECONDS, Engine
from tests.harness.browser.lab import LAB_KERNEL
from tests.harness.browser.watching import TRAINED

READY = f"""((kernel) => kernel?.connectionStatus === "connected" && kernel.status === "idle")(
    {LAB_KERNEL.replace(".", "?.")})"""
"""Notebooks forget a cell that is run before their kernel answers, without a word."""


class EngineWidget:
    """The index-th widget of a page, by the page contract of docs/architecture.md."""

    def __init__(self, engine: Engine, index: int = 0):
        self.engine = engine
        self.root = f"document.querySelectorAll('.dshq-widget')[{index}]"

    def wait(self, condition: str, seconds: float = ANSWER_SECONDS) -> Any:
        """The value of JavaScript that reads the widget's attributes, `data`, once it is something."""
        return self.engine.until(f"((data) => {condition})({self.root}?.dataset ?? {{}})", seconds)

    def number(self, name: str) -> float:
        """An attribute as a number, by its name in `dataset`; waits until it is there."""
        return float(self.wait(f"data.{name}"))

    def control(self, key: str) -> str:
        """The expression of a control (docs/develop/protocol.md)."""
        return f"{self.root}.querySelector('[data-control={key}]')"

    def press(self, key: str) -> None:
        """Click on a control."""
        self.engine.click(self.control(key))

    def plays(self) -> None:
        """The match is drawn, and continues."""
        assert self.wait("data.renderer") in ("canvas2d", "webgpu")
        seen = self.number("tick")
        self.wait(f"Number(data.tick) > {seen + 30}")
        self.engine.until(lambda: self.colours() > 5)  # what was out of sight is drawn a frame later

    def colours(self) -> int:
        """How many different colours the window shows where the match is: one means that nothing was drawn."""
        found = self.engine.evaluate(
            f"""((match) => {{
                match.scrollIntoView({{ block: "center" }});
                const {{ left, top, right, bottom }} = match.getBoundingClientRect();
                return [left, top, right, bottom].map((edge) => edge * devicePixelRatio);
            }})({self.control("match")})"""
        )
        seen = self.engine.picture().crop(tuple(round(edge) for edge in found))
        return len(seen.getcolors(seen.width * seen.height))

    def learns(self) -> None:
        """Press Train; a new version comes to the match, and a chart below it."""
        before = self.number("version")
        self.press("train")
        self.wait(f"Number(data.version) > {before} && Number(data.agentSteps) > 0", TRAINED)
        self.engine.evaluate(f"{self.root}.querySelector('.curve').scrollIntoView()")  # or it is not drawn
        self.engine.until(f"!!{self.root}.querySelector('.curve .uplot')")

    def stops(self) -> None:
        """Press Stop and wait until it has."""
        self.press("stop")
        self.wait("data.status === 'stopped'", TRAINED)


class EngineNotebook:
    """A notebook open in JupyterLab, or in Notebook 7."""

    def __init__(self, engine: Engine, address: str, file: Path):
        """Open it at its address and wait for its kernel; `file` is where the server saves it."""
        self.engine, self.file = engine, file
        engine.open(address)
        engine.until(READY)

    def run(self, cell: int) -> None:
        """Click into a cell and press Shift+Enter."""
        self.engine.click(f"document.querySelectorAll('.jp-Notebook .jp-Cell')[{cell}]?.querySelector('.cm-content')")
        self.engine.press("Shift", "Enter")

    def reload(self) -> None:
        """Save by Ctrl+S, then load the page again. The kernel lives on."""
        stood = self.file.stat().st_mtime_ns
        self.engine.press("Control", "s")
        self.engine.until(lambda: self.file.stat().st_mtime_ns > stood)
        self.engine.reload()
        self.engine.until(READY)
