"""Tests that drive a real JupyterLab in a real, headless Chromium with software WebGPU."""
