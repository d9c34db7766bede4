"""The league's database server is the classroom's."""

from tests.classroom.conftest import postgres

__all__ = ["postgres"]
