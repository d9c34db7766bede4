"""Students come from a learning management system, by LTI 1.3. Copy to /opt/tljh/config/jupyterhub_config.d/lti.py.

Names in CAPITALS are yours. The two addresses are Moodle's; other systems name theirs where the tool is registered.
"""

from typing import Any

from tornado.web import HTTPError

c: Any = get_config()  # type: ignore[name-defined]  # noqa: F821  # TLJH defines it
PLATFORM = "https://LMS.EXAMPLE.ORG"
TEACHERS = {"PROF": "NUMBER"}  # name on the hub, and the claim `sub` of that person


def same_person(authenticator: Any, handler: Any, model: dict[str, Any]) -> dict[str, Any]:
    """Names come from the tool's custom parameter, which on some platforms whoever places the tool in a course may set.
    So a name of TEACHERS counts only together with the platform's own number for that person, which nobody can set; and
    nobody else is let in who may do more than a student. `model` has the name as the hub writes it: in small letters.
    """
    numbers = {authenticator.normalize_username(name): number for name, number in TEACHERS.items()}
    known = handler.find_user(model["name"])
    teaches = model["admin"] or (known and (known.admin or "instructors" in {group.name for group in known.groups}))
    own = str(model["auth_state"].get("sub"))
    if numbers.get(model["name"], None if teaches else own) != own:
        raise HTTPError(403, "This name belongs to somebody else: your own number is %s", own)
    return model


c.JupyterHub.authenticator_class = "ltiauthenticator.lti13.auth.LTI13Authenticator"
c.LTI13Authenticator.issuer = PLATFORM
c.LTI13Authenticator.authorize_url = f"{PLATFORM}/mod/lti/auth.php"
c.LTI13Authenticator.jwks_endpoint = f"{PLATFORM}/mod/lti/certs.php"
c.LTI13Authenticator.client_id = {"CLIENT_ID"}
# The tool's custom parameter login=$User.username; without it the name is the platform's number for the person.
c.LTI13Authenticator.username_key = "custom_login"
c.Authenticator.allow_all = True  # whom the platform lets into the course
c.Authenticator.admin_users = set(TEACHERS)
c.Authenticator.post_auth_hook = same_person
