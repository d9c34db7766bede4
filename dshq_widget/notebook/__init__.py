"""The notebook around: which cell made what, and JupyterLab on the lessons."""
