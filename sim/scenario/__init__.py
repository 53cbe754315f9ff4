"""A scenario as frozen, validated values: what a user writes, with no behaviour."""
