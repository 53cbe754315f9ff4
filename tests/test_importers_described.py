"""describe-table output, recorded responses and create-table inputs."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from sim.errors import ImportFileError
from sim.importers import import_file

FILES = Path(__file__).resolve().parent / "importer_files"


def table_of(text: str) -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads(text)["table"]
    return table


def written(folder: Path, document: object) -> Path:
    path = folder / "described.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def changed(folder: Path, **members: object) -> Path:
    """The file of a plain describe-table with some members changed; None takes one away."""
    document = json.loads((FILES / "described.json").read_text(encoding="utf-8"))
    document["Table"].update(members)
    document["Table"] = {name: member for name, member in document["Table"].items() if member is not None}
    return written(folder, document)


def refusal_of(path: Path, **options: Any) -> str:
    with pytest.raises(ImportFileError) as caught:
        import_file(path, **options)
    return str(caught.value)


def test_a_described_table_with_measured_sizes() -> None:
    text = import_file(FILES / "described.json")
    assert table_of(text) == {
        "name": "readings",
        "pk": "{device}",
        "sk": "{day}",
        "mode": "provisioned",
        "read_capacity": 60,
        "write_capacity": 90,
        "warm_read": 60,
        "warm_write": 90,
        "storage_bytes": 50_000_000,
        "table_class": "standard-ia",
        "streams": True,
        "replicas": 1,
        "gsi": [
            {
                "name": "alarms",
                "pk": "{alarm}",
                "projection": "KEYS_ONLY",
                "projected_bytes": 60,
                "present": 0.02,
                "read_capacity": 5,
                "write_capacity": 6,
            }
        ],
    }
    assert tomllib.loads(text)["cost"] == {"warm_bought": False}  # it may have grown, which costs nothing
    assert tomllib.loads(text)["fields"]["device"] == {"kind": "uniform", "count": 1000}
    assert "# item_bytes = 500  # TableSizeBytes / ItemCount = 50,000,000 / 100,000" in text
    assert 'mode = "provisioned"  # no BillingModeSummary, which means provisioned' in text


def test_decreases_of_the_day_are_told() -> None:
    assert "NumberOfDecreasesToday is 3" in import_file(FILES / "described.json")


def test_replicas_count_further_regions_only(tmp_path: Path) -> None:
    assert "replicas" not in table_of(import_file(changed(tmp_path, Replicas=[{"RegionName": "eu-west-1"}])))
    other = import_file(changed(tmp_path, TableArn=None))
    assert table_of(other)["replicas"] == 2


def test_a_table_caught_on_its_way_to_on_demand() -> None:
    text = import_file(FILES / "recorded_updating.json")
    assert table_of(text) == {"name": "notes", "pk": "{id}", "mode": "on-demand", "storage_bytes": 0}
    assert "The table was caught UPDATING on its way to on-demand (capacity 0/0)" in text
    assert "a recorded describe-table response, data.Table" in text


def test_capacity_of_zero_means_on_demand_where_no_mode_is_named(tmp_path: Path) -> None:
    units = {"ReadCapacityUnits": 0, "WriteCapacityUnits": 0}
    text = import_file(changed(tmp_path, ProvisionedThroughput=units, GlobalSecondaryIndexes=None))
    assert table_of(text)["mode"] == "on-demand"
    assert "a capacity of 0 exists on on-demand tables only" in text


def test_of_several_responses_the_last_active_one_is_read() -> None:
    text = import_file(FILES / "snapshots.json")
    assert table_of(text)["read_capacity"] == 3
    assert "The file holds 4 responses about this table; the one at recorded-content.second.Table" in text


def test_of_several_tables_one_must_be_chosen(tmp_path: Path) -> None:
    one = json.loads((FILES / "described.json").read_text(encoding="utf-8"))
    two = json.loads((FILES / "create_input.json").read_text(encoding="utf-8"))
    path = written(tmp_path, [one, two])
    assert "describes 2 tables: readings, votes — choose one with --table NAME" in refusal_of(path)
    assert table_of(import_file(path, table="votes"))["pk"] == "{poll}"
    assert "did you mean votes?" in refusal_of(path, table="vote")


def test_a_create_table_input() -> None:
    text = import_file(FILES / "create_input.json")
    assert table_of(text) == {
        "name": "votes",
        "pk": "{poll}",
        "sk": "{voter}",
        "mode": "on-demand",
        "warm_read": 15000,
        "warm_write": 5000,
        "max_write": 2500,
        "storage_bytes": 0,
        "streams": False,
    }
    assert "an input of create-table" in text
    assert "cost" not in tomllib.loads(text)  # what is asked for is paid


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_what_shells_and_editors_do_to_a_file(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "described.json"
    path.write_text((FILES / "described.json").read_text(encoding="utf-8"), encoding=encoding)
    assert import_file(path) == import_file(FILES / "described.json")


@pytest.mark.parametrize(
    ("members", "part"),
    [
        ({"KeySchema": []}, "must have one attribute with KeyType HASH"),
        ({"KeySchema": "id"}, "Table.KeySchema: must be a list (given: 'id')"),
        ({"KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}] * 2}, "names an attribute twice: a, a"),
        ({"ProvisionedThroughput": None}, "ProvisionedThroughput is missing, which a provisioned table has"),
        ({"ProvisionedThroughput": {"ReadCapacityUnits": 1}}, "WriteCapacityUnits is missing"),
        ({"TableSizeBytes": -1}, "TableSizeBytes: must be from 0 to"),
        ({"TableSizeBytes": 10**4000}, "a number of hundreds of digits"),
        ({"TableName": {"a": 1}}, "TableName: must be text (given: a mapping of 1)"),
        ({"TableClassSummary": {"TableClass": "COLD"}}, "must be STANDARD or STANDARD_INFREQUENT_ACCESS"),
        ({"BillingModeSummary": {"BillingMode": 7}}, "must be PROVISIONED or PAY_PER_REQUEST (given: 7)"),
        ({"LocalSecondaryIndexes": [{"IndexName": "x"}]}, "KeySchema is missing"),
        ({"Replicas": [None, {"Region": "eu"}]}, "Replicas[1]: RegionName is missing"),
    ],
)
def test_what_is_wrong_in_a_description_is_named(tmp_path: Path, members: dict[str, object], part: str) -> None:
    if members.get("TableSizeBytes") == 10**4000:
        text = (FILES / "described.json").read_text(encoding="utf-8").replace("50000000", "1" + "0" * 4000)
        path = tmp_path / "described.json"
        path.write_text(text, encoding="utf-8")
    else:
        path = changed(tmp_path, **members)
    assert part in refusal_of(path)


def test_a_local_index_is_checked_against_its_table(tmp_path: Path) -> None:
    def index(attribute: str) -> list[dict[str, object]]:
        keys = [{"AttributeName": attribute, "KeyType": "HASH"}, {"AttributeName": "alarm", "KeyType": "RANGE"}]
        return [{"IndexName": "local", "KeySchema": keys, "Projection": {"ProjectionType": "ALL"}}]

    table = table_of(import_file(changed(tmp_path, LocalSecondaryIndexes=index("device"))))
    assert table["lsi"] == [{"name": "local", "sk": "{alarm}", "projection": "ALL"}]
    wrong = changed(tmp_path, LocalSecondaryIndexes=index("day"))
    assert "a local index has the table's HASH attribute, device" in refusal_of(wrong)
    twice = index("device")
    twice[0]["IndexName"] = "alarms"
    assert "is the name of another index" in refusal_of(changed(tmp_path, LocalSecondaryIndexes=twice))


def test_a_status_of_a_wrong_type_decides_nothing(tmp_path: Path) -> None:
    assert table_of(import_file(changed(tmp_path, TableStatus=[]))) == table_of(import_file(FILES / "described.json"))


def test_parameters_belong_to_templates() -> None:
    assert "only templates have parameters" in refusal_of(FILES / "described.json", parameters={"A": "b"})
