"""The forms for Linux and macOS: descriptors, signals, file locks of the kernel."""
