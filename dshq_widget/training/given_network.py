"""A network of a person's own as they give it: its class, a function, `module:NAME` or `my_network.py:NAME`."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dshq_widget.contract.torch_needed import need_torch
from dshq_widget.policy.own_network import NAME, Found, NetworkError
from dshq_widget.runtime.own_modules import look_in
from dshq_widget.runtime.words import said

WANTED = "network: wanted a class or a function, module:NAME or my_network.py:NAME"


def found(network: str | Callable[..., Any]) -> Found:
    """Where every process finds it; a module that is named is imported. Never for the name in a file: a file runs no
    code. Raises NetworkError, and MissingTorch.
    """
    need_torch("a network of your own")
    if not isinstance(network, str):
        return Found.of(network)
    module, _, name = network.rpartition(":")
    folder, file = os.getcwd(), None
    if module.endswith(".py"):
        file = Path(module).expanduser().resolve()
        if not file.is_file():
            raise NetworkError(f"{WANTED}, got {network!r}: there is no such file")
        module, folder = file.stem, str(file.parent)
    if not NAME.fullmatch(f"{module}:{name}"):
        raise NetworkError(f"{WANTED}, got {network!r:.200}")
    look_in(folder)
    try:
        home = importlib.import_module(module)
        there = getattr(home, "__file__", None)
        if file is not None and (there is None or Path(there).resolve() != file):
            raise NetworkError(f"{network!r}: the module {module} of {there} hides this file: give it another name")
        return Found.of(getattr(home, name))
    except NetworkError:
        raise
    except Exception as error:  # a person's module may raise anything
        raise NetworkError(f"{WANTED}, got {network!r}: {said(error)}") from error
