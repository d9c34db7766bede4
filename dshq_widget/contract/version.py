"""The version, in one place: the wheel, `dshq --version` and checkpoints read it here."""

__version__ = "0.2.0"
