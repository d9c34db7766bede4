"""The error of both forms of `locks`."""


class NoLocksError(OSError):
    """The file system has no locks, so nobody can know who else holds one."""
