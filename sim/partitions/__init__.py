"""Mechanisms: buckets, the partition map, admission, a table or index as one resource."""
