"""The main job in one command: a real template and a measured trace become a scenario, the scenario an answer.

``python -m models.demo`` does what these three commands do, and shows them::

    ddbsim import TEMPLATE --traffic TRACE -o demo/orders.toml
    ddbsim run demo/orders.toml --plot demo/orders.png
    ddbsim run demo/orders.toml --set table.write_capacity=460
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.resources import as_file, files
from pathlib import Path

OUTPUT = Path("demo")


def main() -> int:
    """Import the demo's template and trace, run them, and name what to try next. Returns the exit code."""
    scenario, picture = OUTPUT / "orders.toml", OUTPUT / "orders.png"
    OUTPUT.mkdir(exist_ok=True)
    with as_file(files("models") / "demo_files") as folder:
        source = Path(os.path.relpath(folder))
        for words in (
            [
                "import",
                str(source / "template.yaml"),
                "--traffic",
                str(source / "trace.csv"),
                "-o",
                str(scenario),
                "--force",
            ],
            ["run", str(scenario), "--plot", str(picture)],
        ):
            print(f"$ ddbsim {' '.join(words)}", flush=True)
            code = subprocess.run([sys.executable, "-m", "sim.cli", *words], check=False).returncode
            if code:
                return code
    print(f"The picture is in {picture}, the scenario in {scenario}. What would the cure do?")
    print(f"  ddbsim run {scenario} --set table.write_capacity=460")
    return 0


if __name__ == "__main__":
    sys.exit(main())
