"""What checks the answers to the exercises of each lesson, in the module of its name; nothing else.

`missing(...)` takes an answer and gives what it still lacks as sentences, none when it is done. `DONE` says what a
finished answer means.
"""
