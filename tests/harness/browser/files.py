"""Files that a person takes from a widget and drops on it."""

import base64
from pathlib import Path

from tests.harness.browser.page import WidgetPage

DROP = """(stage, [name, text]) => {
    const bytes = Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([bytes], name));
    for (const type of ["dragover", "drop"]) {
        stage.dispatchEvent(new DragEvent(type, {bubbles: true, cancelable: true, dataTransfer}));
    }
}"""


def saved(widget: WidgetPage, entry: str, folder: Path) -> Path:
    """What an entry of the Share menu downloads."""
    if not widget.control(entry).is_visible():
        widget.control("share").click()
    with widget.page.expect_download(timeout=180_000) as download:
        widget.control(entry).click()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


def drop(widget: WidgetPage, name: str, data: bytes) -> None:
    widget.root.locator(".stage").evaluate(DROP, [name, base64.b64encode(data).decode()])
