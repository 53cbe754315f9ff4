"""Ways of moving the same traffic through the same mechanisms."""
