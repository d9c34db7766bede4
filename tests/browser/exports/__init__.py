"""Pages without a kernel: exported matches, the site, training in the page."""
