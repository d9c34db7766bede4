"""The league as people see it: its pages, by its own login or a hub's, what is checked of uploads, and the server. No
rounds and ratings.
"""
