"""The environment variables of a process that reads or runs what strangers have sent."""

import re
from collections.abc import Mapping

NEEDED = re.compile(
    r"PATH|HOME|USER|LOGNAME|LANG|LC_[A-Z]+|TZ|TMPDIR|TEMP|TMP|SYSTEMROOT|XDG_CACHE_HOME|LD_LIBRARY_PATH"
    r"|PYTHON\w*|NUMBA_\w+|\w+_NUM_THREADS|DSHQ_CACHE_DIR|DSHQ_PORTABLE|CPU_LIMIT|MEM_LIMIT"
)
"""Those that it gets: where programs, libraries and machine code are, and how much it may use."""


def without_secrets(environ: Mapping[str, str]) -> dict[str, str]:
    """What a program needs to run, and nothing else, since nobody knows the names of all secrets."""
    return {name: value for name, value in environ.items() if NEEDED.fullmatch(name)}
