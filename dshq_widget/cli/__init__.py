"""The command line `dshq`: its verbs, their arguments and their reports."""
