"""The environment variables that processes inherit: none of them may lead to what a stranger has put somewhere."""

import os
import re
from collections.abc import Mapping

NEEDED = re.compile(
    r"PATH|HOME|USER|LOGNAME|LANG|LC_[A-Z]+|TZ|TMPDIR|TEMP|TMP|SYSTEMROOT|XDG_CACHE_HOME|LD_LIBRARY_PATH"
    r"|PYTHON\w*|NUMBA_\w+|\w+_NUM_THREADS|DSHQ_CACHE_DIR|DSHQ_PORTABLE|CPU_LIMIT|MEM_LIMIT"
)
"""Those that a process gets which reads or runs what strangers have sent: where programs, libraries and machine code
are, and how much it may use.
"""
LIBRARIES = "LD_LIBRARY_PATH"


def without_secrets(environ: Mapping[str, str]) -> dict[str, str]:
    """What a program needs to run, and nothing else, since nobody knows the names of all secrets."""
    return {name: value for name, value in environ.items() if NEEDED.fullmatch(name)}


def named_libraries(environ: Mapping[str, str]) -> dict[str, str]:
    """The same without empty places among the folders of libraries: there the loader of a process that begins looks in
    the working folder, where a stranger's may lie. OpenCV, once imported, leaves such a place to all later processes.
    """
    folders = filter(None, re.split("[:;]", environ.get(LIBRARIES, "")))
    return {**environ, LIBRARIES: ":".join(folders)} if LIBRARIES in environ else dict(environ)


def name_libraries() -> None:
    """So, from now on, for all processes that this one starts."""
    if LIBRARIES in os.environ:
        os.environ[LIBRARIES] = named_libraries(os.environ)[LIBRARIES]
