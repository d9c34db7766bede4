"""The suite; `make test` runs it."""
