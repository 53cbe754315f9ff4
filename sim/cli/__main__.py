"""`python -m sim.cli`."""

from __future__ import annotations

from sim.cli.app import main

if __name__ == "__main__":
    main()
