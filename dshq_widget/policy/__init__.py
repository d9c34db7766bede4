"""The network as data: its description, acting in numpy, files, evaluation, exports. No training."""
