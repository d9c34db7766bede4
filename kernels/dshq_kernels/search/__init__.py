"""Search by particles, compiled: copies of a state that are played ahead, and what there is to learn from them."""
