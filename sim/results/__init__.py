"""Functions of what was recorded, ignorant of how it came about."""
