"""Designs, workloads and named scenarios, built on the public names of `sim` only."""
