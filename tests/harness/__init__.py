"""What tests, tools and benchmarks share: servers, kernels, pages in a browser, and a person at them."""
