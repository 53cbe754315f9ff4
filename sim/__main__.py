"""`python -m sim`: the command line where `ddbsim` is not on the path."""

from __future__ import annotations

from sim.cli import main

if __name__ == "__main__":
    main()
