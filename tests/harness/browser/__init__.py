"""A browser, a JupyterLab, a hub and bare pages, and the widget in them as a person would use it."""
