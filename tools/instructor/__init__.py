"""What an instructor needs, made from the lessons' texts and the reference answers: `make instructor`."""
