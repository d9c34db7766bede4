"""PyTorch's machine code: nothing that another user has put into the temporary folder ends a process, or is run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

OPTIMISER = """
import getpass, os, sys, tempfile
from pathlib import Path
Path(tempfile.gettempdir(), f"torchinductor_{getpass.getuser()}").touch()  # a neighbour's
import dshq_widget
import torch
weight = torch.zeros(1, requires_grad=True)
torch.optim.SGD([weight]).step()
import torch._dynamo
print(os.environ["TORCHINDUCTOR_CACHE_DIR"])
"""


@pytest.mark.parametrize("chosen", ["", "chosen"])
def test_it_is_kept_in_a_folder_of_ones_own(chosen: str, tmp_path: Path):
    """A file of the name that PyTorch takes ended everything that learns with it, and all checks of its lessons."""
    pytest.importorskip("torch")
    (tmp_path / "temporary").mkdir()
    environ = {name: value for name, value in os.environ.items() if name != "TORCHINDUCTOR_CACHE_DIR"}
    environ |= {"TMPDIR": str(tmp_path / "temporary"), "DSHQ_CACHE_DIR": str(tmp_path / "own")}
    environ |= {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / chosen)} if chosen else {}
    done = subprocess.run([sys.executable, "-c", OPTIMISER], env=environ, capture_output=True, text=True)
    assert done.stdout.strip() == str(tmp_path / (chosen or "own/torch")), done.stderr
