"""Training from start to end: the loop in its own process, the trainer that steers it, evaluation, files, telemetry."""
