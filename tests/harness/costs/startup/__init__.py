"""A folder for PYTHONPATH: Python imports its sitecustomize.py when it starts."""
