"""Students come from a learning management system that has LTI 1.1 only; LTI 1.3, lti.py, is newer and safer.

Copy to /opt/tljh/config/jupyterhub_config.d/lti11.py. Names in CAPITALS are yours: key and secret come from
`openssl rand -hex 32`, twice, and are typed into the platform. Keep this file readable for root only.
"""

from typing import Any

c: Any = get_config()  # type: ignore[name-defined]  # noqa: F821  # TLJH defines it

c.JupyterHub.authenticator_class = "ltiauthenticator.lti11.auth.LTI11Authenticator"
c.LTI11Authenticator.consumers = {"CONSUMER_KEY": "SHARED_SECRET"}
# The tool's custom parameter login=$User.username; without it the name is the platform's number for the person.
c.LTI11Authenticator.username_key = "custom_login"
c.Authenticator.allow_all = True  # whom the platform lets into the course
c.Authenticator.admin_users = {"PROF"}
