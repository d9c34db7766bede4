"""`make hub`: a real JupyterHub for a class on this machine, with a share of the processors for each server."""
