"""The surrounding notebook: which cell created which widget, and JupyterLab with the lessons."""
