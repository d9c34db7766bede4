"""Files that are written whole or not at all. Imports only system, so that every room may write with it."""
