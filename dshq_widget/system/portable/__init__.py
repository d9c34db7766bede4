"""The forms for any system: threads, names instead of descriptors, psutil and filelock."""
