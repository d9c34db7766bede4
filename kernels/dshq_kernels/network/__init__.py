"""The policy network on tiles: layers, what stands in front of them, forward, gradient, an update."""
