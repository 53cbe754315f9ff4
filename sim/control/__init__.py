"""Controllers beside the traffic: split for heat, size and throughput, on-demand growth, adaptive capacity of 2017."""
