"""The class league: students submit policies, the server plays rounds, and everybody can verify the results. The hub of
`make hub`, and grades.
"""
