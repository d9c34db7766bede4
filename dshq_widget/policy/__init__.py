"""The network as data: its description, acting in numpy, files, evaluation, exports. Nothing here trains."""
