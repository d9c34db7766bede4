"""The class league: students submit policies, the server plays rounds, everybody can verify the results. And grades.

Here are its rounds, its referee and its tables of results; `store.py` is what it remembers (`database` has the tables
of that), `service` its pages, and `hub` the class of `make hub`.
"""
