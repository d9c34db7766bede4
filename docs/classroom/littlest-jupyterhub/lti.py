"""Students come from a learning management system, by LTI 1.3. Copy to /opt/tljh/config/jupyterhub_config.d/lti.py.

Names in CAPITALS are yours. The two addresses are Moodle's; other systems name theirs where the tool is registered.
"""

from typing import Any

c: Any = get_config()  # type: ignore[name-defined]  # noqa: F821  # TLJH defines it
PLATFORM = "https://LMS.EXAMPLE.ORG"

c.JupyterHub.authenticator_class = "ltiauthenticator.lti13.auth.LTI13Authenticator"
c.LTI13Authenticator.issuer = PLATFORM
c.LTI13Authenticator.authorize_url = f"{PLATFORM}/mod/lti/auth.php"
c.LTI13Authenticator.jwks_endpoint = f"{PLATFORM}/mod/lti/certs.php"
c.LTI13Authenticator.client_id = {"CLIENT_ID"}
# The tool's custom parameter login=$User.username; without it the name is the platform's number for the person.
c.LTI13Authenticator.username_key = "custom_login"
c.Authenticator.allow_all = True  # whom the platform lets into the course
c.Authenticator.admin_users = {"PROF"}
