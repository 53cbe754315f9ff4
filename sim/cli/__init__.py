"""The command line: `ddbsim` (`python -m sim` is the same).

Exit codes: 0 ran; 2 the input is wrong; 1 a fault of the program itself, or a limit set on the command line was passed.
"""

from __future__ import annotations

from sim.cli.app import app, main
from sim.cli.options import IMPORT_EXAMPLES

__all__ = ["IMPORT_EXAMPLES", "app", "main"]
