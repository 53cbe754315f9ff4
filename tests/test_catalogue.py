"""Named scenarios, designs and workloads: on the command line, and from packages that the engine has never heard of."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import models
import sim
from sim import catalogue
from sim.cli import app


def ddbsim(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def others(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Another package's collection beside ours, found as an installed one is."""
    points = metadata.EntryPoints(
        [
            *metadata.entry_points(group=catalogue.GROUP),
            metadata.EntryPoint("zoo", f"{__name__}:ZOO", catalogue.GROUP),
        ]
    )
    monkeypatch.setattr(metadata, "entry_points", lambda group: points.select(group=group))
    catalogue._offers.cache_clear()
    yield
    catalogue._offers.cache_clear()


class Zoo:
    """A collection with a scenario and a workload of its own."""

    TEXT = models.scenarios.text("flash-sale").replace("Flash sale on demand", "Feeding time")

    def listed(self) -> Sequence[sim.Listed]:
        return (
            sim.Listed(kind="scenario", name="feeding", shows=("Z-1", "S-OD-2X"), says="All come at once."),
            sim.Listed(kind="design", name="cage", shows=(), says="One key for all."),
            sim.Listed(kind="workload", name="closing", shows=(), says="All leave at once."),
        )

    def text(self, name: str) -> str:
        return self.TEXT

    def under(self, design: str, workload: str) -> sim.Scenario:
        return sim.loads(self.TEXT)


ZOO = Zoo()


def test_every_model_is_listed_on_a_line_of_its_own_by_its_id() -> None:
    lines = ddbsim("models").stdout.splitlines()
    rows = catalogue.listed()
    assert {row.kind for row in rows} == {"scenario", "design", "workload"}
    for row in rows:
        line = " ".join((row.name, *row.shows, row.says))
        assert [found for found in lines if " ".join(found.split()) == " ".join(line.split())], row.name
    assert len([line for line in lines if line]) == len(rows) + 4  # a head for each kind, and a last line


def test_all_that_is_said_of_one_is_found_by_its_name_or_its_id() -> None:
    said = ddbsim("models", "flash-sale").stdout
    assert "ddbsim run flash-sale" in said
    assert "ddbsim compare" in said  # it is a scenario and a workload
    assert ddbsim("models", "s-bad-status").stdout.startswith("bad-status")
    wrong = ddbsim("models", "flesh-sale")
    assert wrong.exit_code == 2
    assert "did you mean 'flash-sale'?" in wrong.stderr
    near = ddbsim("models", "S-SHARD-RANDON").stderr
    assert "did you mean 'S-SHARD-RANDOM'?" in near
    named = near.partition("There are: ")[2].partition(" and ")[0].split(", ")
    assert len(named) == len(set(named)) > 5


def test_the_list_as_json_has_all_of_it() -> None:
    rows = json.loads(ddbsim("models", "--json").stdout)
    assert [row["name"] for row in rows] == [row.name for row in catalogue.listed()]
    assert set(rows[0]) == {"kind", "name", "shows", "says", "title"}


def test_a_scenario_runs_by_its_name(folder: Path) -> None:
    by_name = json.loads(ddbsim("run", "flash-sale", "--set", "duration=2m", "--json").stdout)
    by_hand = sim.with_overrides(models.scenarios.load("flash-sale"), [("duration", '"2m"')])
    assert by_name == sim.run(by_hand).to_dict()


def test_a_file_of_that_name_goes_before(folder: Path) -> None:
    Path("flash-sale").write_text(models.scenarios.text("flash-sale").replace("Flash sale on demand", "Ours"))
    assert json.loads(ddbsim("run", "flash-sale", "--set", "duration=1m", "--json").stdout)["title"] == "Ours"


def test_a_folder_of_that_name_does_not(folder: Path) -> None:
    Path("flash-sale").mkdir()
    Path("ours").mkdir()
    assert ddbsim("check", "flash-sale").stdout == "flash-sale: valid\n"
    assert "ours: is a folder, not a scenario file" in ddbsim("check", "ours").stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("run", "flesh-sale"), "flesh-sale: no such file, and no scenario of this name — did you mean 'flash-sale'?"),
        (("run", "flash-sale.toml"), "flash-sale.toml: no such file"),
        (("new", "flesh-sale"), "flesh-sale: no scenario of this name — did you mean 'flash-sale'?"),
        (("compare", "bad-statuss", "good-user", "--workload", "flash-sale"), "bad-statuss: no design of this name"),
        (("compare", "bad-status", "good-user", "--workload", "sale"), "sale: no workload of this name"),
        (("run", "flash-sale", "--set", "tabel.mode=1"), "--set"),
    ],
)
def test_a_wrong_name_is_answered_with_the_nearest(arguments: Sequence[str], says: str, folder: Path) -> None:
    answer = ddbsim(*arguments)
    assert (answer.exit_code, answer.stdout) == (2, "")
    assert says in answer.stderr
    assert list(folder.iterdir()) == []


def test_two_unknown_designs_are_both_told_and_the_workload_once() -> None:
    answer = ddbsim("compare", "bad-statuss", "good-usr", "--workload", "flesh-sale")
    assert [line.split(":")[0] for line in answer.stderr.splitlines()] == ["bad-statuss", "flesh-sale", "good-usr"]


def test_a_file_is_started_from_a_scenario_with_its_comments(folder: Path) -> None:
    answer = ddbsim("new", "flash-sale")
    assert answer.exit_code == 0
    assert Path("flash-sale.toml").read_text() == models.scenarios.text("flash-sale")
    again = ddbsim("new", "flash-sale")
    assert again.exit_code == 2
    assert "exists already" in again.stderr
    assert ddbsim("new", "flash-sale", "--force").exit_code == 0
    assert ddbsim("new", "flash-sale", "-o", "no/such/folder.toml").exit_code == 2


def test_a_file_is_started_from_a_design_under_a_workload(folder: Path) -> None:
    assert ddbsim("new", "good-user", "--workload", "flash-sale", "-o", "ours.toml").exit_code == 0
    made = models.scenario(models.designs.good_user(), models.workloads.flash_sale())
    assert sim.dump(sim.load("ours.toml")) == sim.dump(made)


def test_designs_are_compared_under_a_workload(folder: Path) -> None:
    words = ("compare", "bad-status", "good-user", "--workload", "flash-sale", "--set", "duration=20m")
    said = json.loads(ddbsim(*words, "--json").stdout)
    assert [run["label"] for run in said["runs"]] == ["bad-status", "good-user"]
    bad, good = (run["throttled_fraction"] for run in said["runs"])
    assert (good, said["cheapest"]) == (0, "good-user")
    # From 10m on 5,000 orders a second ask for one key range of 1,000 writes a second at most.
    assert bad > 0.2
    shown = ddbsim(*words, "--plot", "designs.png").stdout
    assert "bad-status" in shown
    assert Path("designs.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("others")
@pytest.mark.parametrize("command", ["run", "check", "new"])
def test_a_design_alone_is_asked_for_its_workload(command: str, folder: Path) -> None:
    answer = ddbsim(command, "cage")
    assert answer.exit_code == 2
    assert "cage: is a design, which runs under a workload: name one with --workload" in answer.stderr
    assert "closing" in answer.stderr
    assert ddbsim(command, "cage", "--workload", "closing").exit_code == 0


@pytest.mark.usefixtures("others")
def test_other_packages_bring_their_own() -> None:
    assert ddbsim("check", "feeding").stdout == "feeding: valid\n"
    assert "All come at once." in ddbsim("models").stdout
    several = ddbsim("run", "S-OD-2X")
    assert several.exit_code == 2
    assert "is shown by several scenarios; name one — flash-sale" in several.stderr
    assert ddbsim("check", "z-1").stdout == "z-1: valid\n"
    apart = ddbsim("run", "good-user", "--workload", "closing")
    assert apart.exit_code == 2
    assert "is a workload of another package than the design good-user" in apart.stderr


class Odd:
    """A collection of which nearly everything is wrong."""

    def listed(self) -> Sequence[sim.Listed]:
        rows: list[object] = [
            sim.Listed(kind="scenario", name="sound", shows=(), says="This one is right."),
            sim.Listed(kind="scenario", name="flash-sale", shows=(), says="Taken."),
            sim.Listed(kind="scenario", name="../../away", shows=(), says="A path."),
            sim.Listed(kind="scenario", name="nothing", shows=(None,), says="No text."),  # type: ignore[arg-type]
            sim.Listed(kind="zoo", name="kind", shows=(), says="No kind."),  # type: ignore[arg-type]
            ("a", "tuple"),
        ]
        return rows  # type: ignore[return-value]

    def text(self, name: str) -> str:
        raise KeyError(name)

    def under(self, design: str, workload: str) -> sim.Scenario:
        raise AssertionError


class Raising:
    """A collection that cannot say what it has."""

    def listed(self) -> Sequence[sim.Listed]:
        raise RuntimeError("no list today")


class Unread(Odd):
    """A collection whose texts are no scenarios."""

    def listed(self) -> Sequence[sim.Listed]:
        return [sim.Listed(kind="scenario", name=name, shows=(), says="") for name in ("five", "empty")]

    def text(self, name: str) -> str:
        return 5 if name == "five" else "format = 1\nduration =\n"  # type: ignore[return-value]


ODD, NONE, RAISING, UNREAD = Odd(), None, Raising(), Unread()


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Put a package's entry point beside ours."""
    ours = list(metadata.entry_points(group=catalogue.GROUP))

    def install(value: str) -> None:
        points = metadata.EntryPoints([metadata.EntryPoint("aa", value, catalogue.GROUP), *ours])
        monkeypatch.setattr(metadata, "entry_points", lambda group: points.select(group=group))
        catalogue._offers.cache_clear()

    yield install
    catalogue._offers.cache_clear()


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("no_such_package:X", "ModuleNotFoundError"),
        (f"{__name__}:NO_SUCH_NAME", "AttributeError"),
        (f"{__name__}:NONE", "AttributeError"),
        (f"{__name__}:RAISING", "RuntimeError: no list today"),
        ("not a valid", "cannot be used"),
        ("antigravity_of_tests:X", "SystemExit"),
    ],
)
def test_a_package_that_is_broken_is_told_and_ours_are_there_all_the_same(
    value: str, says: str, installed: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "antigravity_of_tests.py").write_text("import sys\nsys.exit(3)\n")
    monkeypatch.syspath_prepend(tmp_path)
    installed(value)
    answer = ddbsim("models")
    assert answer.exit_code == 0
    assert "bad-status" in answer.stdout
    (line,) = answer.stderr.splitlines()
    assert line.startswith(f"{value}: the entry point aa in group ddbsim.scenarios (MODULE:OBJECT) cannot be used")
    assert says in line
    assert ddbsim("check", "bucket").stdout == "bucket: valid\n"
    missing = ddbsim("check", "nope")
    assert missing.exit_code == 2
    assert "cannot be used" in missing.stderr  # perhaps it was to come from there


def test_rows_that_are_wrong_are_left_out_with_a_word_and_ours_are_not_replaced(
    installed: Callable[[str], None],
) -> None:
    installed(f"{__name__}:ODD")
    answer = ddbsim("models")
    complaints = answer.stderr.splitlines()
    assert len(complaints) == 5
    assert "lists 'flash-sale', which is left out: another package has one of this name" in complaints[0]
    assert "a name is letters, digits, - and _" in complaints[1]
    assert "This one is right." in answer.stdout
    found = catalogue.find("scenario", "flash-sale")
    assert found is not None
    assert found.says != "Taken."
    wanted = ddbsim("run", "sound")
    assert wanted.exit_code == 2
    assert "sound cannot be had: KeyError: 'sound'" in wanted.stderr


def test_a_text_that_is_no_scenario_is_not_written(installed: Callable[[str], None], folder: Path) -> None:
    installed(f"{__name__}:UNREAD")
    assert "five is no str but a int" in ddbsim("run", "five").stderr
    for name in ("five", "empty"):
        assert ddbsim("new", name).exit_code == 2
    assert list(folder.iterdir()) == []


class Failing(Odd):
    """A collection whose design cannot be made."""

    def listed(self) -> Sequence[sim.Listed]:
        kinds: tuple[catalogue.Kind, ...] = ("workload", "design", "scenario")
        return [sim.Listed(kind=kind, name=f"zz-{kind}", shows=("lower-Case",), says="Fails.") for kind in kinds]

    def under(self, design: str, workload: str) -> sim.Scenario:
        raise RuntimeError("boom")


FAILING = Failing()


def test_what_fails_in_another_package_is_told_as_its_own(installed: Callable[[str], None]) -> None:
    installed(f"{__name__}:FAILING")
    answer = ddbsim("run", "zz-design", "--workload", "zz-workload")
    assert answer.exit_code == 2
    assert answer.stderr == f"{__name__}:FAILING: zz-design under zz-workload cannot be had: RuntimeError: boom\n"
    scenario = ddbsim("run", "zz-scenario")
    assert scenario.stderr == f"{__name__}:FAILING: zz-scenario cannot be had: KeyError: 'zz-scenario'\n"


def test_the_list_has_one_head_for_each_kind_whoever_brings_them(installed: Callable[[str], None]) -> None:
    installed(f"{__name__}:FAILING")
    lines = ddbsim("models").stdout.splitlines()
    assert [line.split(":")[0] for line in lines if line.startswith(("Scenarios", "Designs", "Workloads"))] == [
        "Scenarios",
        "Designs",
        "Workloads",
    ]
    said = ddbsim("models", "LOWER-case").stdout
    assert "ddbsim compare zz-design … --workload zz-workload" in said
    assert "flash-sale" not in said


def test_a_workload_is_the_one_of_the_design_s_own_package(installed: Callable[[str], None]) -> None:
    installed(f"{__name__}:ZOO")
    assert catalogue.under("good-user", "flash-sale").title.startswith("good-user")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("run", "order-dates"), "order-dates: no such file, and is a workload, no scenario"),
        (("new", "bucket", "--workload", "flash-sale"), "bucket: is a scenario, no design"),
        (
            ("run", "flash-sale.toml"),
            "ddbsim run flash-sale runs the named scenario, ddbsim new flash-sale makes a file of it",
        ),
        (("run", "a" * 300), "no such file, and no scenario of this name"),
        (("models", ""), "'': no scenario, design or workload has this name or id"),
        (("new", ""), "'': no scenario of this name"),
    ],
)
def test_other_slips_are_answered(arguments: Sequence[str], says: str, folder: Path) -> None:
    answer = ddbsim(*arguments)
    assert (answer.exit_code, answer.stdout) == (2, "")
    assert says in answer.stderr


def test_a_started_file_goes_to_standard_output_when_it_is_told_to(folder: Path) -> None:
    assert ddbsim("new", "flash-sale", "-o", "-").stdout == models.scenarios.text("flash-sale")
    assert list(folder.iterdir()) == []
    assert ddbsim("new", "good-user", "--workload", "flash-sale").exit_code == 0
    assert [path.name for path in folder.iterdir()] == ["good-user-flash-sale.toml"]
