"""`dshq lab`: JupyterLab with the package's notebooks."""

from __future__ import annotations

import json
import os
from pathlib import Path

from dshq_widget.files import atomic

SOURCES = tuple(Path(__file__).parents[above] / "notebooks" for above in (1, 2))
"""Folders of the notebooks: in an installed package, in a checkout."""


def copy_notebooks(folder: Path) -> Path:
    """Copy the notebooks into `folder` without overwriting existing ones, and return the first one."""
    source = next(path for path in SOURCES if path.is_dir())
    names = sorted(path.name for path in source.glob("*.ipynb"))
    for name in names:
        if not (folder / name).exists():
            atomic.write(folder / name, (source / name).read_bytes())
    return folder / names[0]


def serve(notebook: Path, *, port: int | None = None, browser: bool = True, as_json: bool = False) -> None:
    """Run JupyterLab in the notebook's folder, opened on it, until it is shut down.

    `port` is the first one tried. With `as_json` one JSON object {url, folder, notebook} is printed as soon as the
    server answers. Raises ImportError if JupyterLab is not installed.
    """
    from jupyterlab.labapp import LabApp

    page = f"lab/tree/{notebook.name}"
    arguments = [f"--ServerApp.root_dir={notebook.parent}", f"--LabApp.default_url=/{page}"]
    arguments += [f"--ServerApp.port={port}"] if port else []
    arguments += [] if browser else ["--no-browser"]
    arguments += ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    server = LabApp.initialize_server(argv=arguments)
    url = f"{server.connection_url}{page}?token={server.identity_provider.token}"
    said = {"url": url, "folder": str(notebook.parent), "notebook": str(notebook)}
    text = json.dumps(said) if as_json else f"JupyterLab on {notebook}: {url}"
    server.io_loop.add_callback(print, text, flush=True)  # printed after the server has its port
    server.start()
