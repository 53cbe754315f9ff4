"""Files that users already have, turned into a scenario: `import_file`."""

from sim.importers.importing import import_file

__all__ = ["import_file"]
