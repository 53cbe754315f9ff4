"""The team's corpus of real files: each is read, or refused in a sentence that says what to do."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from sim.errors import ImportFileError, ScenarioError
from sim.importers import import_file
from sim.scenario import loads

READ = ("cloudformation", "describe-table", "create-table", "traces")
OTHER_FORMS = {
    "terraform": "looks like a Terraform file",
    "nosql-workbench": "looks like a NoSQL Workbench model",
    "aws-data-model": "looks like a DynamoDB data model",
    "autoscaling": "looks like an auto scaling history",
    "cloudtrail": "looks like a CloudTrail log",
    "contributor-insights": "looks like a Contributor Insights report",
}
OTHER_FILES = {
    "cloudwatch/get_metric_data.json": "looks like CloudWatch metric data",
    "cloudwatch/get_metric_statistics.json": "looks like CloudWatch metric data",
    "cloudwatch/placebo_get_metric_statistics.json": "looks like CloudWatch metric data",
    "cloudwatch/optima_analysis_summary.csv": "looks like a report of the capacity mode evaluator",
    "ddb-export/manifest-files.json": "looks like a manifest of an export to S3",
    "ddb-export/manifest-summary.json": "looks like a manifest of an export to S3",
    "ddb-export/sample_items.json": "looks like the input of batch-write-item",
    "ddb-export/stream_event.json": "looks like a DynamoDB Streams event",
}


@pytest.fixture
def corpus(shared: Path) -> Path:
    return shared / "corpus"


def scenario_of(path: Path, **options: Any) -> dict[str, Any]:
    text = import_file(path, output_dir=path.parent, **options)
    try:
        loads(text, base_dir=path.parent)
    except ScenarioError as error:
        others = [problem for problem in error.problems if "not simulated yet" not in problem.message]
        assert [problem.path for problem in others] in ([], ["traffic"])
    return tomllib.loads(text)


@pytest.mark.parametrize("kind", READ)
def test_every_file_of_a_kind_that_is_read_becomes_a_scenario(corpus: Path, kind: str) -> None:
    paths = sorted((corpus / kind).iterdir())
    assert paths
    for path in paths:
        conditional = path.name == "sam_billing_conditional.yml"
        scenario_of(path, parameters={"BillingModeParameter": "PROVISIONED"} if conditional else None)


@pytest.mark.parametrize(("kind", "part"), OTHER_FORMS.items())
def test_every_file_of_another_kind_is_told_what_it_looks_like(corpus: Path, kind: str, part: str) -> None:
    paths = sorted((corpus / kind).iterdir())
    assert paths
    for path in paths:
        with pytest.raises(ImportFileError, match=part) as caught:
            import_file(path)
        assert "this version reads CloudFormation and SAM templates" in str(caught.value)


@pytest.mark.parametrize(("name", "part"), OTHER_FILES.items())
def test_a_file_of_another_kind_is_told_what_it_looks_like(corpus: Path, name: str, part: str) -> None:
    with pytest.raises(ImportFileError, match=part):
        import_file(corpus / name)


def test_no_folder_of_the_corpus_is_forgotten(corpus: Path) -> None:
    named = {*READ, *OTHER_FORMS, *(name.split("/")[0] for name in OTHER_FILES)}
    assert {path.name for path in corpus.iterdir() if path.is_dir()} == named


def test_the_twins_give_the_same_table(corpus: Path) -> None:
    one = scenario_of(corpus / "cloudformation" / "secondary_indexes.yaml")
    assert one == scenario_of(corpus / "cloudformation" / "secondary_indexes.json")
    assert (one["table"]["read_capacity"], one["table"]["write_capacity"]) == (5, 10)
    assert [index["name"] for index in one["table"]["lsi"]] == ["LanguageIndex"]


def test_the_billing_mode_is_asked_for(corpus: Path) -> None:
    path = corpus / "cloudformation" / "sam_billing_conditional.yml"
    with pytest.raises(ImportFileError, match="--parameter BillingModeParameter=VALUE"):
        import_file(path)
    assert scenario_of(path, parameters={"BillingModeParameter": "PAY_PER_REQUEST"})["table"]["mode"] == "on-demand"


def test_scaling_of_a_synthesised_template(corpus: Path) -> None:
    table = scenario_of(corpus / "cloudformation" / "cdk_autoscaling_scheduled.template.json")["table"]
    assert table["autoscaling"]["read"] == {
        "min": 1,
        "max": 50,
        "target_utilization": 0.5,
        "schedule": [{"cron": "cron(0 8 * * ? *)", "min": 20}, {"cron": "cron(0 20 * * ? *)", "max": 20}],
    }


def test_an_empty_maximum_of_one_region(corpus: Path) -> None:
    path = corpus / "cloudformation" / "cdk_global_table_on_demand_max.template.json"
    first = scenario_of(path)["table"]
    second = scenario_of(path, parameters={"AWS::Region": "us-east-1"})["table"]
    assert (first["max_read"], first["max_write"], first["replicas"]) == (222, 10, 1)
    assert "max_read" not in second
    assert (second["gsi"][0]["max_read"], second["gsi"][0]["max_write"]) == (2001, 2001)


def test_the_last_active_response_of_a_snapshot(corpus: Path) -> None:
    table = scenario_of(corpus / "describe-table" / "validated_warm_throughput.json")["table"]
    assert (table["warm_read"], table["warm_write"], table["read_capacity"]) == (1000, 1200, 5)


def test_popularity_of_a_real_web_site(corpus: Path) -> None:
    path = corpus / "traces" / "web07_first25000.csv"
    assert "11,332 values in 25,000 rows" in import_file(path, output_dir=path.parent)


def test_a_skewed_index_key_is_measured(corpus: Path, tmp_path: Path) -> None:
    template = tmp_path / "log.json"
    template.write_text(
        '{"TableName": "log", "BillingMode": "PAY_PER_REQUEST", "KeySchema": [{"AttributeName": "requestid", "KeyType": "HASH"}], '
        '"GlobalSecondaryIndexes": [{"IndexName": "codes", "KeySchema": [{"AttributeName": "responsecode", "KeyType": "HASH"}], '
        '"Projection": {"ProjectionType": "ALL"}}]}',
        encoding="utf-8",
    )
    trace = corpus / "traces" / "workshop_logfile_keys.csv"
    assert "column responsecode: " in (text := import_file(template, traffic=trace, output_dir=tmp_path))
    assert "200 has 84" in text


def test_counts_per_five_minutes_become_a_rate(corpus: Path) -> None:
    found = scenario_of(corpus / "traces" / "tweet_volume_amzn_first6000.csv")
    assert found["duration"] == 6000 * 300
    assert found["traffic"][0]["rate"]["per"] == "row"


@pytest.mark.parametrize(
    ("name", "operations"),
    [
        ("ycsb_workloada.properties", ["GetItem", "UpdateItem"]),
        ("ycsb_workloadd.properties", ["GetItem", "PutItem"]),
        ("ycsb_workloadf.properties", ["GetItem", "GetItem", "UpdateItem"]),
    ],
)
def test_workloads_of_the_benchmark(corpus: Path, name: str, operations: list[str]) -> None:
    found = scenario_of(corpus / "traces" / name)
    assert [pattern["operation"] for pattern in found["traffic"]] == operations
    assert found["fields"]["key"] == {"kind": "zipf", "count": 1000, "exponent": 0.99}
