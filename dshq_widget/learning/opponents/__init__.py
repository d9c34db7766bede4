"""Who plays against the learner: policies in slots of memory, and the competition that earlier ones come from."""
