"""A match that leaves the notebook: as one HTML file, as a cell output, as the picture of a notebook without it."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import traitlets

from dshq_widget.files import atomic
from dshq_widget.widget.export_html import Embedded, document, frame
from dshq_widget.widget.page_files import page_file
from dshq_widget.widget.still import still
from dshq_widget.widget.trained import Trained


class Exported(Trained):
    """What leaves is the match as it is now, with its newest policy."""

    controls = traitlets.Any(None).tag(sync=True)

    def export_html(self, path: str | os.PathLike[str], *, train: bool | None = None) -> Path:
        """Write the match, with its current policy, as one HTML file that needs no kernel and no network connection,
        and trains by itself: about 0.8 MB.

        `train=False` leaves the trainer out (0.6 MB); True raises ValueError or RuntimeError where a page cannot train
        this, instead of leaving it out. Returns the file's absolute path; raises OSError if it cannot be written.
        """
        return atomic.write(path, self._page_file(train))

    def _page_file(self, train: bool | None = None) -> bytes:
        """What `export_html` writes."""
        trainer = None if train is False else self.page_trainer(bool(train))
        if train and trainer is None:
            raise ValueError("this package has nothing that trains in a page: leave out train=True")
        return self._document(trainer=trainer).encode()

    def page_trainer(self, needed: bool = False) -> Mapping[str, Any] | None:
        """What an exported page trains by itself with; None if it cannot, or, if it is `needed`, ValueError or
        RuntimeError.
        """
        warn = functools.partial(self._outbox.log, "warning")
        made = (part.for_export(self._trainer, needed, warn) for part in self._parts)
        return next((one for one in made if one), None)

    def embed(self) -> Embedded:
        """The current match as a cell output that still plays when the saved notebook is opened without a kernel. It
        adds about 0.3 MB to the notebook.
        """
        title = self.drill["spec"]["title"]
        return Embedded(frame(self._document(packed=True), title), title)

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """The widget's view, and as HTML a picture and a sentence for whoever opens the notebook without the widget."""
        bundle = super()._repr_mimebundle_(**kwargs)
        if bundle is None:
            return None
        data, metadata = bundle
        snapshot = self.snapshot or {}
        drill = self._trainer.drill
        state = snapshot.get("state") if snapshot.get("rules_hash") == drill.rules_hash else None
        return {**data, "text/html": still(drill, self.show["seed"], state)}, metadata

    def _document(self, packed: bool = False, trainer: Mapping[str, Any] | None = None) -> str:
        self._trainer.require("html")
        if self._kernel_show is not None:
            raise ValueError(
                f"{self._trainer.drill.name} cannot be exported: a page cannot play it without its environment"
            )
        with self._outbox.lock:
            state = {name: getattr(self, name) for name in ("drill", "policy", "rivals", "show", "controls", "config")}
        return document(state, page_file("standalone.js"), page_file("widget.css"), packed=packed, trainer=trainer)
