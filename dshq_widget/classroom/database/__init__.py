"""The league's database: its connection, its tables, and how one of an earlier release becomes this one's. What is read
and written there is in store.py.
"""
