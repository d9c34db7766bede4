"""Small drills, environments and algorithms for tests."""
