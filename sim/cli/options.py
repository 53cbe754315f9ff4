"""The arguments and options of the commands, and the examples under their help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

# Paragraphs of an epilog are its lines.
RUN_EXAMPLES = """Examples:

  ddbsim run orders.toml --plot orders.png

  ddbsim run flash-sale

  ddbsim run orders.toml --set table.write_capacity=200 --seed 3 --json --fail-over 1%

  ddbsim run orders.toml --level request --log attempts.csv --metrics cloudwatch.json"""
COMPARE_EXAMPLES = """Examples:

  ddbsim compare on-demand.toml provisioned.toml autoscaled.toml

  ddbsim compare before.toml after.toml --max-throttled 0.1% --json

  ddbsim compare bad-status shard-hash good-user --workload flash-sale --plot designs.png"""
NEW_EXAMPLES = """Examples:

  ddbsim new flash-sale -o ours.toml

  ddbsim new good-user --workload order-dates"""
IMPORT_EXAMPLES = (
    "Reads CloudFormation and SAM templates, describe-table output, create-table input, CSV traces and YCSB workload files; "
    "which of them a file is, is told by what stands in it."
    """

Examples:

  ddbsim import template.yaml --parameter Stage=prod -o orders.toml

  ddbsim import described.json --traffic requests.csv -o orders.toml"""
)

FileArgument = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", help="A scenario file (TOML), or a name: ddbsim models lists them.", show_default=False
    ),
]
FilesArgument = Annotated[
    list[Path],
    typer.Argument(metavar="FILE...", help="Scenario files or names; with --workload, designs.", show_default=False),
]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON object on standard output, nothing else on it.")]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Change one value: table.write_capacity=200, traffic[0].rate=50, traffic.NAME.rate=50. May be repeated.",
        show_default=False,
    ),
]
SeedOption = Annotated[int | None, typer.Option("--seed", help="The run's randomness.", show_default=False)]
LevelOption = Annotated[
    str | None, typer.Option("--level", metavar="flow|request", help="How traffic is moved.", show_default=False)
]
WithoutIndexesOption = Annotated[
    bool, typer.Option("--without-indexes", help="Leave out global secondary indexes and what reads them.")
]
WithoutAutoscalingOption = Annotated[
    bool, typer.Option("--without-autoscaling", help="Leave out auto scaling: capacity stays as provisioned.")
]
NoProgressOption = Annotated[bool, typer.Option("--no-progress", help="No progress bar on standard error.")]
FailOverOption = Annotated[
    str | None,
    typer.Option(
        "--fail-over",
        metavar="SHARE",
        help="Exit with 1 if more than this share of attempts was throttled, or of requests failed: 1% or 0.01.",
        show_default=False,
    ),
]

MaxThrottledOption = Annotated[
    str,
    typer.Option(
        "--max-throttled",
        metavar="SHARE",
        help="Only a run that throttles at most this share of its attempts, and fails at most this share of its requests, may be called "
        "the cheapest: 1% or 0.01.",
    ),
]

PlotOption = Annotated[
    Path | None, typer.Option("--plot", metavar="OUT.png", help="Save the picture.", show_default=False)
]
WorkloadOption = Annotated[
    str | None,
    typer.Option(
        "--workload", metavar="NAME", help="FILE is a design, to be run under this workload.", show_default=False
    ),
]
