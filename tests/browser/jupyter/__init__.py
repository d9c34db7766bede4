"""The widget in the real front ends: JupyterLab, the hub, and others."""
