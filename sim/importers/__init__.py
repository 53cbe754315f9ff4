"""Files that users already have, turned into a scenario."""
