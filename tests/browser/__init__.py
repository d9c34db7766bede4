"""Tests that drive a real, headless Chromium with software WebGPU: bare pages, and folders for the rest."""
