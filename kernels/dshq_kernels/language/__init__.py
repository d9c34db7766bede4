"""The rules language: from a game's Python rules to one typed program, with its errors. No target is known here."""
