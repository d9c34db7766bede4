"""One file per target: a typed program as CPU, JavaScript or CUDA code."""
