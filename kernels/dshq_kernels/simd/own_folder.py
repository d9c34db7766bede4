"""Folders that only this user can change, for what is executed or trusted later. A predictable name in a folder that
everybody may write, such as /tmp, may have been taken by somebody else.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def is_own(path: Path, others: int = OTHERS_WRITE) -> bool:
    """Whether the folder at `path` is this user's, and none of the mode bits `others` lets somebody else write there;
    False if there is none. A link is nobody's.
    """
    try:
        found = os.lstat(path)
    except OSError:
        return False
    if not hasattr(os, "getuid"):  # Windows: the temporary folder is the user's own
        return stat.S_ISDIR(found.st_mode)
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & others
