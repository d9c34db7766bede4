"""The class league: students send in policies, rounds are played on the server, everybody can check the results."""
