"""The panels beside the pitch, each with a real kernel."""
