"""Files that are written whole or not at all. Imports no other room, so that every room may write with it."""
