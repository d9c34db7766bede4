"""The command line `dshq`: its verbs, their arguments, and the reports that only they make."""
