"""What the tests cost: processor time of each test, of the processes that it starts and of numba, by room."""
