"""Students come from a learning management system that has LTI 1.1 only; LTI 1.3, lti.py, is newer and safer.

Copy to /opt/tljh/config/jupyterhub_config.d/lti11.py. Names in CAPITALS are yours: key and secret come from
`openssl rand -hex 32`, twice, and are typed into the platform. Keep this file readable for root only.
"""

from typing import Any

from tornado.web import HTTPError

c: Any = get_config()  # type: ignore[name-defined]  # noqa: F821  # TLJH defines it
TEACHERS = {"PROF": "NUMBER"}  # name on the hub, and the parameter `user_id` of that person


def same_person(authenticator: Any, handler: Any, model: dict[str, Any]) -> dict[str, Any]:
    """Names come from the tool's custom parameter, which on some platforms whoever places the tool in a course may set.
    So a name of TEACHERS counts only together with the platform's own number for that person, which nobody can set; and
    nobody else is let in who may do more than a student. `model` has the name as the hub writes it: in small letters.
    """
    numbers = {authenticator.normalize_username(name): number for name, number in TEACHERS.items()}
    known = handler.find_user(model["name"])
    teaches = model["admin"] or (known and (known.admin or "instructors" in {group.name for group in known.groups}))
    own = str(model["auth_state"].get("user_id"))
    if numbers.get(model["name"], None if teaches else own) != own:
        raise HTTPError(403, "This name belongs to somebody else: your own number is %s", own)
    return model


c.JupyterHub.authenticator_class = "ltiauthenticator.lti11.auth.LTI11Authenticator"
c.LTI11Authenticator.consumers = {"CONSUMER_KEY": "SHARED_SECRET"}
# The tool's custom parameter login=$User.username; without it the name is the platform's number for the person.
c.LTI11Authenticator.username_key = "custom_login"
c.Authenticator.allow_all = True  # whom the platform lets into the course
c.Authenticator.admin_users = set(TEACHERS)
c.Authenticator.post_auth_hook = same_person
