"""The project's icon: two players, who are a sergeant's chevrons too, and the ball between them."""

from urllib.parse import quote

SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64"><rect width="64" height="64" rx="14" fill="#1f6f54"/>'
    '<g fill="none" stroke-width="7" stroke-linecap="round" stroke-linejoin="round">'
    '<path d="M10 20 24 32 10 44" stroke="#4aa3ff"/><path d="M54 20 40 32 54 44" stroke="#ff9f43"/></g>'
    '<circle cx="32" cy="32" r="6" fill="#fff"/></svg>'
)
"""`docs/images/logo.svg` has the same."""
ICON = f"data:image/svg+xml,{quote(SVG)}"
"""As the address of a page's icon: no request is made for it."""
