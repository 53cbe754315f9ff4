"""Templates: what each form of a table in CloudFormation and SAM becomes, and what is asked for or refused."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from sim.errors import ImportFileError
from sim.importers import import_file
from sim.scenario import loads

FILES = Path(__file__).resolve().parent / "importer_files"


def scenario_of(text: str) -> dict[str, Any]:
    return tomllib.loads(text)


def without_comments(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.startswith("#"))


def written(folder: Path, text: str, name: str = "template.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def refusal_of(path: Path, **options: Any) -> str:
    with pytest.raises(ImportFileError) as caught:
        import_file(path, **options)
    return str(caught.value)


def table_yaml(properties: str, before: str = "") -> str:
    """A template with one table; `properties` are indented YAML lines besides its key."""
    return f"""{before}
Resources:
  Things:
    Type: AWS::DynamoDB::Table
    Properties:
      AttributeDefinitions: [{{ AttributeName: id, AttributeType: S }}]
      KeySchema: [{{ AttributeName: id, KeyType: HASH }}]
{properties}
"""


ON_DEMAND = "      BillingMode: PAY_PER_REQUEST"
PROVISIONED = "      ProvisionedThroughput: { ReadCapacityUnits: 1, WriteCapacityUnits: 1 }"


def test_a_template_becomes_a_table_with_its_indexes_and_scaling() -> None:
    text = import_file(FILES / "parcels.yaml")
    assert scenario_of(text)["table"] == {
        "name": "Parcels",
        "pk": "{parcel_id}",
        "sk": "{scannedAt}",
        "mode": "provisioned",
        "read_capacity": 120,
        "write_capacity": 40,
        "storage_bytes": 0,
        "table_class": "standard",
        "streams": True,
        "autoscaling": {
            "write": {
                "min": 40,
                "max": 400,
                "target_utilization": 0.65,
                "schedule": [{"cron": "cron(30 5 ? * MON-FRI *)", "min": 200}],
            }
        },
        "gsi": [
            {
                "name": "by-depot",
                "pk": "{depot}",
                "sk": "{scannedAt}",
                "projection": "INCLUDE",
                "projected_bytes": 200,
                "read_capacity": 15,
                "write_capacity": 25,
                "autoscaling": {"read": {"min": 15, "max": 60, "target_utilization": 0.7}},
            }
        ],
        "lsi": [{"name": "by-courier", "sk": "{courier}", "projection": "KEYS_ONLY", "projected_bytes": 100}],
    }


def test_each_line_says_where_it_came_from() -> None:
    lines = import_file(FILES / "parcels.yaml").splitlines()
    read = "read_capacity = 120  # Properties.ProvisionedThroughput.ReadCapacityUnits ← Mappings.Reads.large.units"
    write = (
        'write_capacity = 40  # Properties.ProvisionedThroughput.WriteCapacityUnits ← parameter Writes (default "40")'
    )
    assert read in lines
    assert write in lines
    bare = [line for line in lines if "=" in line and not line.startswith(("#", "title", "format")) and "#" not in line]
    assert bare == ["schedule = ["]


def test_the_header_tells_what_was_left_out() -> None:
    header = " ".join(
        line.removeprefix("#").strip() for line in import_file(FILES / "parcels.yaml").splitlines() if line[:1] == "#"
    )
    assert "once runs at at(2026-12-24T06:00:00), and only cron(…) of six fields is taken" in header
    assert "To fill in: traffic." in header


def header_of(text: str) -> str:
    return " ".join(line.removeprefix("#").strip() for line in text.splitlines() if line[:1] == "#")


def test_what_is_in_the_file_and_was_not_taken_is_listed(tmp_path: Path) -> None:
    more = """
      FooBar: 5
      KinesisStreamSpecification: { StreamArn: !GetAtt Stream.Arn }
      PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true }
      TimeToLiveSpecification: { AttributeName: ttl, Enabled: true }
      DeletionProtectionEnabled: false
      SSESpecification: !If [Never, { SSEEnabled: true }, !Ref AWS::NoValue]
      Tags: !If [Never, 1, [{ Key: a, Value: b }]]
      GlobalSecondaryIndex: []
      GlobalSecondaryIndexes:
        - IndexName: one
          KeySchema: [{ AttributeName: id, KeyType: HASH }]
          Projection: { ProjectionType: ALL }
          ContributorInsightsSpecification: { Enabled: true }
        - IndexName: two
          KeySchema: [{ AttributeName: id, KeyType: HASH, Order: 1 }]
          Projection: { ProjectionType: ALL }
          ContributorInsightsSpecification: { Enabled: true }
"""
    path = written(tmp_path, table_yaml(ON_DEMAND + more, "Conditions: { Never: !Equals [a, b] }"))
    assert (
        "Not taken: FooBar, KinesisStreamSpecification, PointInTimeRecoverySpecification, TimeToLiveSpecification, Tags, "
        "GlobalSecondaryIndex, GlobalSecondaryIndexes[].ContributorInsightsSpecification, "
        "GlobalSecondaryIndexes[].KeySchema[].Order. Expiry by TTL is traffic of its own"
    ) in header_of(import_file(path))


def test_a_name_with_a_slip_is_told_what_it_may_have_been(tmp_path: Path) -> None:
    path = written(tmp_path, table_yaml("      BillingMod: PAY_PER_REQUEST\n" + PROVISIONED))
    assert "Not taken: BillingMod (did you mean BillingMode?)." in header_of(import_file(path))
    path = written(tmp_path, table_yaml(ON_DEMAND).replace("KeySchema", "KeyScheme"))
    assert "KeySchema is missing — 'KeyScheme' is there; did you mean KeySchema?" in refusal_of(path)


def test_nothing_is_said_where_all_was_taken() -> None:
    assert "Not taken" not in import_file(FILES / "parcels.yaml")
    assert "Not taken" not in import_file(FILES / "described.json")


def test_cooldowns_and_a_scale_in_that_is_off_are_not_dropped_in_silence(tmp_path: Path) -> None:
    template = (FILES / "parcels.yaml").read_text(encoding="utf-8")
    target = "        TargetValue: 65.0\n"
    assert target in template
    more = "        ScaleInCooldown: 60\n        DisableScaleIn: {}\n"
    off = header_of(import_file(written(tmp_path, template.replace(target, target + more.format("true")))))
    policy = "ParcelWritesPolicy.TargetTrackingScalingPolicyConfiguration"
    paths = [f"{policy}.{name}" for name in ("ScaleInCooldown", "DisableScaleIn")]
    assert f"Not taken: {', '.join(paths)}. Auto scaling in a scenario has no cooldowns, and always scales in" in off
    on = header_of(import_file(written(tmp_path, template.replace(target, target + more.format("false")))))
    assert f"Not taken: {paths[0]}. " in on


def test_settings_of_a_description_that_were_not_taken_are_listed_without_its_labels(tmp_path: Path) -> None:
    described = json.loads((FILES / "described.json").read_text(encoding="utf-8"))
    table = described["Table"]
    table |= {"SSEDescription": {"Status": "ENABLED"}, "TableArn": "a", "DeletionProtectionEnabled": True}
    path = written(tmp_path, json.dumps(described), "described.json")
    assert "Not taken: SSEDescription, DeletionProtectionEnabled. " in header_of(import_file(path))


@pytest.mark.parametrize("name", ["Yes", "No", "On", "Off", "true", "0123", "1e3", "Null"])
def test_a_condition_and_a_parameter_may_have_any_word_as_their_name(tmp_path: Path, name: str) -> None:
    before = f"""
Parameters:
  {name}: {{ Type: Number, Default: 7 }}
Conditions:
  {name}: !Equals [!Ref {name}, 7]
"""
    capacity = f"""
      ProvisionedThroughput: !If
        - {name if name in {"Yes", "No", "On", "Off"} else repr(name)}
        - {{ ReadCapacityUnits: !Ref {name}, WriteCapacityUnits: !Sub "${{{name}}}" }}
        - !Ref AWS::NoValue
"""
    table = scenario_of(import_file(written(tmp_path, table_yaml(capacity, before))))["table"]
    assert (table["read_capacity"], table["write_capacity"]) == (7, 7)


@pytest.mark.parametrize(("word", "streams"), [("true", True), ("Yes", True), ("off", False), ("False", False)])
def test_yamls_words_for_true_and_false_are_still_read_as_such(tmp_path: Path, word: str, streams: bool) -> None:
    path = written(tmp_path, table_yaml(f"{ON_DEMAND}\n      StreamSpecification: {{ StreamEnabled: {word} }}"))
    assert scenario_of(import_file(path))["table"]["streams"] is streams


def test_a_template_of_one_resource_is_told_so_in_the_singular(tmp_path: Path) -> None:
    path = written(tmp_path, "Resources:\n  Bucket:\n    Type: AWS::S3::Bucket\n")
    assert refusal_of(path).endswith("it has 1 resource (AWS::S3::Bucket)")


def test_yaml_and_json_twins_give_the_same_table() -> None:
    yaml_text = import_file(FILES / "parcels.yaml")
    json_text = import_file(FILES / "parcels.json")
    assert without_comments(yaml_text) == without_comments(json_text)


def test_a_given_parameter_changes_what_hangs_on_it() -> None:
    text = import_file(FILES / "parcels.yaml", parameters={"Size": "small", "Writes": "50", "Stage": "test"})
    table = scenario_of(text)["table"]
    assert (table["name"], table["read_capacity"], table["write_capacity"]) == ("parcels-test", 10, 50)
    assert table["table_class"] == "standard-ia"
    assert "streams" not in table
    assert "parameter Writes (given)" in text


def test_a_condition_brings_a_list_member_in_or_leaves_it_out() -> None:
    large = scenario_of(import_file(FILES / "parcels.yaml"))["table"]
    small = scenario_of(import_file(FILES / "parcels.yaml", parameters={"Size": "small"}))["table"]
    assert [index["name"] for index in large["gsi"]] == ["by-depot"]
    assert [index["name"] for index in small["gsi"]] == ["by-depot", "by-day"]


@pytest.mark.parametrize(
    ("parameters", "part"),
    [
        ({"Sise": "small"}, "did you mean Size?"),
        ({"Size": "huge"}, "must be one of small, large"),
        ({"Writes": "many"}, "WriteCapacityUnits: must be a whole number"),
        ({"Writes": "0"}, "must be from 1 to"),
    ],
)
def test_a_wrong_parameter_is_refused(parameters: dict[str, str], part: str) -> None:
    assert part in refusal_of(FILES / "parcels.yaml", parameters=parameters)


def test_a_parameter_that_matters_is_asked_for_by_name(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        table_yaml(
            "      BillingMode: !If [Cheap, PAY_PER_REQUEST, !Ref AWS::NoValue]\n"
            "      ProvisionedThroughput: !If [Cheap, !Ref AWS::NoValue, {ReadCapacityUnits: 4, WriteCapacityUnits: 2}]",
            before="Parameters: { Billing: { Type: String } }\n"
            "Conditions: { Cheap: !Equals [!Ref Billing, PAY_PER_REQUEST] }",
        ),
    )
    assert "--parameter Billing=VALUE" in refusal_of(path)
    cheap = scenario_of(import_file(path, parameters={"Billing": "PAY_PER_REQUEST"}))["table"]
    dear = scenario_of(import_file(path, parameters={"Billing": "PROVISIONED"}))["table"]
    assert cheap["mode"] == "on-demand"
    assert (dear["mode"], dear["read_capacity"], dear["write_capacity"]) == ("provisioned", 4, 2)


def test_a_stored_parameter_is_not_its_own_value(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        table_yaml(
            "      ProvisionedThroughput: { ReadCapacityUnits: !Ref Units, WriteCapacityUnits: 1 }",
            before="Parameters: { Units: { Type: 'AWS::SSM::Parameter::Value<Number>', Default: /app/units } }",
        ),
    )
    assert "--parameter Units=VALUE" in refusal_of(path)
    assert scenario_of(import_file(path, parameters={"Units": "8"}))["table"]["read_capacity"] == 8


def test_a_value_of_another_stack_must_be_written_in(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        table_yaml("      ProvisionedThroughput: { ReadCapacityUnits: !ImportValue units, WriteCapacityUnits: 1 }"),
    )
    assert "write the value itself into a copy of the file" in refusal_of(path)


def test_an_unknown_part_that_decides_nothing_is_not_asked_for(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        table_yaml(
            ON_DEMAND,
            before="Parameters: { A: { Type: String } }\n"
            "Conditions: { Both: !And [!Equals [!Ref A, x], !Equals [a, b]], Same: !Equals [!Ref A, !Ref A] }",
        ).replace("PAY_PER_REQUEST", "!If [Both, PROVISIONED, !If [Same, PAY_PER_REQUEST, PROVISIONED]]"),
    )
    assert scenario_of(import_file(path))["table"]["mode"] == "on-demand"


def test_a_region_decides_only_when_it_is_given(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        table_yaml(
            "      ProvisionedThroughput:\n"
            "        ReadCapacityUnits: !FindInMap [Units, !Ref 'AWS::Region', read]\n"
            "        WriteCapacityUnits: 3",
            before="Mappings: { Units: { eu-west-1: { read: 33 } } }",
        ),
    )
    assert "--parameter AWS::Region=VALUE" in refusal_of(path)
    table = scenario_of(import_file(path, parameters={"AWS::Region": "eu-west-1"}))["table"]
    assert table["read_capacity"] == 33
    assert "finds no such entry" in refusal_of(path, parameters={"AWS::Region": "mars-north-1"})


def test_no_billing_mode_is_provisioned_and_needs_capacity(tmp_path: Path) -> None:
    good = written(tmp_path, table_yaml("      ProvisionedThroughput: { ReadCapacityUnits: 2, WriteCapacityUnits: 1 }"))
    assert 'mode = "provisioned"  # no BillingMode: PROVISIONED is CloudFormation\'s default' in import_file(good)
    bad = written(tmp_path, table_yaml(""))
    assert "ProvisionedThroughput is missing, which BillingMode PROVISIONED needs" in refusal_of(bad)


def test_capacity_on_an_on_demand_table_is_left_out_and_told(tmp_path: Path) -> None:
    path = written(
        tmp_path, table_yaml(ON_DEMAND + "\n      ProvisionedThroughput: {ReadCapacityUnits: 2, WriteCapacityUnits: 1}")
    )
    text = import_file(path)
    assert "read_capacity" not in scenario_of(text)["table"]
    assert "ProvisionedThroughput does not act in on-demand mode" in text


def test_several_tables_are_named_and_one_is_chosen() -> None:
    path = FILES / "shops.yaml"
    assert "has 3 tables: Carts (carts), Stock, Sessions — choose one with --table NAME" in refusal_of(path)
    assert "did you mean Stock?" in refusal_of(path, table="Stok")
    assert scenario_of(import_file(path, table="carts")) == scenario_of(import_file(path, table="Carts"))


def test_on_demand_maxima_and_warm_throughput() -> None:
    assert scenario_of(import_file(FILES / "shops.yaml", table="carts"))["table"] == {
        "name": "carts",
        "pk": "{cart}",
        "mode": "on-demand",
        "warm_read": 20000,
        "warm_write": 7000,
        "max_read": 500,
        "storage_bytes": 0,
    }


def test_simple_tables() -> None:
    stock = scenario_of(import_file(FILES / "shops.yaml", table="Stock"))["table"]
    assert (stock["pk"], stock["mode"], stock["read_capacity"], stock["write_capacity"]) == (
        "{sku}",
        "provisioned",
        7,
        3,
    )
    sessions = scenario_of(import_file(FILES / "shops.yaml", table="Sessions"))["table"]
    assert (sessions["pk"], sessions["mode"]) == ("{id}", "on-demand")


def test_a_global_table_takes_its_first_region_or_the_one_asked_for() -> None:
    path = FILES / "players.yaml"
    first = scenario_of(import_file(path))["table"]
    assert (first["replicas"], first["read_capacity"], first["write_capacity"]) == (2, 11, 50)
    assert first["autoscaling"] == {"write": {"min": 20, "max": 200, "target_utilization": 0.6}}
    assert (first["gsi"][0]["read_capacity"], first["gsi"][0]["write_capacity"]) == (12, 30)
    second = scenario_of(import_file(path, parameters={"AWS::Region": "us-west-2"}))["table"]
    assert (second["read_capacity"], second["gsi"][0]["read_capacity"]) == (21, 22)
    assert second["table_class"] == "standard-ia"


def test_names_of_a_single_table_design_are_remarked_on() -> None:
    assert "PK and SK are the names of a single-table design" in import_file(FILES / "players.yaml")


def test_empty_and_negative_maxima_are_none_and_zero_is_refused(tmp_path: Path) -> None:
    for maxima in ("{}", "{ MaxReadRequestUnits: -1 }", "{ MaxReadRequestUnits: '-1' }"):
        path = written(tmp_path, table_yaml(f"{ON_DEMAND}\n      OnDemandThroughput: {maxima}"))
        assert "max_read" not in scenario_of(import_file(path))["table"]
    for wrong in ("0", "-2", "1.5", "lots", "[1]", "true"):
        path = written(
            tmp_path, table_yaml(f"{ON_DEMAND}\n      OnDemandThroughput: {{ MaxReadRequestUnits: {wrong} }}")
        )
        assert "MaxReadRequestUnits: must be" in refusal_of(path)


def test_a_key_of_several_attributes_is_joined(tmp_path: Path) -> None:
    index = """      GlobalSecondaryIndexes:
        - IndexName: places
          KeySchema:
            - { AttributeName: country, KeyType: HASH }
            - { AttributeName: city, KeyType: HASH }
            - { AttributeName: street, KeyType: RANGE }
            - { AttributeName: house, KeyType: RANGE }
          Projection: { ProjectionType: ALL }"""
    table = scenario_of(import_file(written(tmp_path, table_yaml(f"{ON_DEMAND}\n{index}"))))["table"]
    assert (table["gsi"][0]["pk"], table["gsi"][0]["sk"]) == ("{country}#{city}", "{street}#{house}")


def test_attribute_names_that_only_differ_in_signs_get_fields_of_their_own(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "Resources: { T: { Type: 'AWS::DynamoDB::Table', Properties: { BillingMode: PAY_PER_REQUEST, KeySchema: "
        "[{ AttributeName: a-b, KeyType: HASH }, { AttributeName: a.b, KeyType: RANGE }] } } }",
    )
    found = scenario_of(import_file(path))
    assert (found["table"]["pk"], found["table"]["sk"]) == ("{a_b}", "{a_b_2}")
    assert set(found["fields"]) == {"a_b", "a_b_2"}


def test_capacity_above_the_default_quota_brings_its_quota(tmp_path: Path) -> None:
    path = written(
        tmp_path, table_yaml("      ProvisionedThroughput: {ReadCapacityUnits: 90000, WriteCapacityUnits: 40000}")
    )
    assert scenario_of(import_file(path))["account"] == {"table_read": 90000, "account_read": 90000}


def test_a_scaling_target_of_a_table_elsewhere_is_told(tmp_path: Path) -> None:
    text = import_file(
        written(
            tmp_path,
            table_yaml("      ProvisionedThroughput: { ReadCapacityUnits: 2, WriteCapacityUnits: 1 }")
            + """  Target:
    Type: AWS::ApplicationAutoScaling::ScalableTarget
    Properties:
      ServiceNamespace: dynamodb
      ResourceId: table/others
      ScalableDimension: dynamodb:table:ReadCapacityUnits
      MinCapacity: 1
      MaxCapacity: 9
""",
        )
    )
    assert "Target scales table/others, which is no table of the file" in text
    assert "autoscaling" not in scenario_of(text)["table"]


def scaled(schedule: str, capacity: str) -> str:
    """A template with one table and a scaling target of its reads that has a schedule."""
    return f"""{table_yaml(capacity)}
  Target:
    Type: AWS::ApplicationAutoScaling::ScalableTarget
    Properties:
      ResourceId: !Sub table/${{Things}}
      ScalableDimension: dynamodb:table:ReadCapacityUnits
      MinCapacity: 1
      MaxCapacity: 9
      ScheduledActions: [{{ Schedule: '{schedule}', ScalableTargetAction: {{ MaxCapacity: 5 }} }}]
"""


def test_scaling_does_not_act_in_on_demand_mode(tmp_path: Path) -> None:
    text = import_file(written(tmp_path, scaled("cron(0 8 * * ? *)", ON_DEMAND)))
    assert "autoscaling" not in scenario_of(text)["table"]
    assert "Target does not act in on-demand mode and was left out" in text


def test_what_the_scenario_format_does_not_allow_is_refused_at_once(tmp_path: Path) -> None:
    capacity = "      ProvisionedThroughput: { ReadCapacityUnits: 2, WriteCapacityUnits: 1 }"
    refused = refusal_of(written(tmp_path, scaled("cron(0 8 * * * *)", capacity)))
    assert "template.yaml, as a scenario: table.autoscaling.read.schedule[0].cron" in refused


def test_a_target_finds_its_table_by_a_name_that_only_the_deployment_knows(tmp_path: Path) -> None:
    text = import_file(
        written(
            tmp_path,
            table_yaml(
                "      TableName: !Ref Name\n      ProvisionedThroughput: { ReadCapacityUnits: 2, WriteCapacityUnits: 1 }",
                before="Parameters: { Name: { Type: String } }",
            )
            + """  Target:
    Type: AWS::ApplicationAutoScaling::ScalableTarget
    Properties:
      ResourceId: !Sub table/${Name}
      ScalableDimension: dynamodb:table:ReadCapacityUnits
      MinCapacity: 1
      MaxCapacity: 9
  Policy:
    Type: AWS::ApplicationAutoScaling::ScalingPolicy
    Properties:
      ResourceId: !Sub table/${Name}
      ScalableDimension: dynamodb:table:ReadCapacityUnits
      TargetTrackingScalingPolicyConfiguration: { TargetValue: 80 }
""",
        )
    )
    assert scenario_of(text)["table"]["autoscaling"] == {"read": {"min": 1, "max": 9, "target_utilization": 0.8}}
    assert 'name = "Things"  # the logical id: Properties.TableName is ${Name}' in text


@pytest.mark.parametrize(
    ("template", "part"),
    [
        ("Resources: { Bucket: { Type: 'AWS::S3::Bucket' } }", "the template has no DynamoDB table"),
        ("AWSTemplateFormatVersion: '2010-09-09'", "Resources: must be a mapping of resources"),
        ("Resources: { T: { Type: 'AWS::DynamoDB::Table' } }", "Properties is missing"),
        (table_yaml(ON_DEMAND).replace("KeySchema", "Keys"), "KeySchema is missing"),
        (table_yaml(ON_DEMAND).replace("HASH", "hash"), "must be HASH or RANGE (given: 'hash')"),
        (table_yaml(ON_DEMAND.replace("PAY_PER_REQUEST", "CHEAP")), "must be PROVISIONED or PAY_PER_REQUEST"),
        (table_yaml(ON_DEMAND.replace("PAY_PER_REQUEST", "!Ref Bill")), "refers to nothing in the template"),
        (table_yaml(ON_DEMAND + "\n      GlobalSecondaryIndexes: { a: 1 }"), "must be a list (given: a mapping of 1)"),
        (table_yaml(ON_DEMAND + "\n      WarmThroughput: [1]"), "must be a mapping of names to values"),
        (table_yaml(ON_DEMAND.replace("PAY_PER_REQUEST", "!If [No, a, b]")), "must be the name of a condition"),
        (table_yaml(ON_DEMAND.replace("PAY_PER_REQUEST", "!Join [a]")), "Fn::Join takes a list of 2"),
        (table_yaml(f"{ON_DEMAND}\n      TableName: !Join ['', [{'a' * 6000}, {'b' * 6000}]]"), "grows without end"),
        (
            "Conditions: { A: !Condition A }\n" + table_yaml(ON_DEMAND.replace("PAY_PER_REQUEST", "!If [A, a, b]")),
            "itself",
        ),
        (
            "Conditions: { Never: !Equals [a, b] }\n"
            + table_yaml(ON_DEMAND).replace("    Type", "    Condition: Never\n    Type"),
            "not created under these parameters: Things",
        ),
    ],
)
def test_what_is_wrong_in_a_template_is_named(tmp_path: Path, template: str, part: str) -> None:
    assert part in refusal_of(written(tmp_path, template))


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("!Sub 'a-${AWS::Partition}'", "a-aws"),
        ("!Sub ['${x}-${!y}', { x: !Ref Part }]", "part-${y}"),
        ("!Join ['-', !Split ['.', 'a.b.c']]", "a-b-c"),
        ("!Join [',', !Ref Parts]", "p,q"),
        ("!Select [1, !Ref Parts]", "q"),
        ("!Select ['0', [x, y]]", "x"),
        ("!FindInMap [Names, !Ref Part, '1']", "one"),
        ("!If [Holds, !If [Fails, a, b], c]", "b"),
        ("!If [Either, a, b]", "a"),
        ("!Sub 'x-${Things.Arn}'", "Things"),
        ("!GetAtt Things.Arn", "Things"),
        ("!GetAtt [Things, Arn]", "Things"),
        ("!Sub '${AWS::StackName}'", "Things"),
        ("!Base64 x", "Things"),
        ("!Join ['', [a, !ImportValue b]]", "Things"),
        ("!Select [0, !Split [',', !ImportValue b]]", "Things"),
        ("!If [Unknown, a, b]", "Things"),
        ("2026-01-01", "2026-01-01"),
        ("1", "1"),
    ],
)
def test_functions_give_what_the_deployment_would(tmp_path: Path, name: str, shown: str) -> None:
    before = """
Parameters:
  Part: { Type: String, Default: part }
  Parts: { Type: CommaDelimitedList, Default: "p, q" }
  Open: { Type: String }
Mappings: { Names: { part: { 1: one } } }
Conditions:
  Holds: !Equals [!Ref Part, part]
  Fails: !Not [!Condition Holds]
  Either: !Or [!Condition Fails, !Equals [true, "true"], !Equals [!Ref Open, x]]
  Unknown: !And [!Condition Holds, !Not [!Equals [!Ref Open, x]]]
"""
    path = written(tmp_path, table_yaml(f"{ON_DEMAND}\n      TableName: {name}", before=before))
    assert scenario_of(import_file(path))["table"]["name"] == shown


@pytest.mark.parametrize(
    ("mode", "part"),
    [
        ("!Ref [a]", "Ref takes a name"),
        ("!Ref Thing", "did you mean Things?"),
        ("!Sub [a]", "Fn::Sub takes a list of 2"),
        ("!Sub [a, b]", "Fn::Sub takes a text and a mapping"),
        ("!Sub {}", "Fn::Sub takes a text"),
        ("!Join [[], []]", "Fn::Join takes a text to join with"),
        ("!Join ['', a]", "Fn::Join takes a list to join"),
        ("!Join ['', [[a]]]", "must be text"),
        ("!Select [5, [a]]", "takes an index below 1"),
        ("!Select [0, a]", "must be a list"),
        ("!Split ['', a]", "Fn::Split takes a text to split at"),
        ("!GetAtt 5.5", "only 5.5 decides it"),
        ("!GetAtt {}", "Fn::GetAtt takes a resource and an attribute"),
        ("!If [Odd, a, b]", "must be one of Condition, Fn::And"),
        ("!If [Text, a, b]", "must be a condition such as Fn::Equals"),
        ("!If [Few, a, b]", "Fn::Or takes a list of 2 to 10"),
    ],
)
def test_a_function_that_is_written_wrongly_is_named(tmp_path: Path, mode: str, part: str) -> None:
    before = "Conditions: { Odd: { 'Fn::Xor': [a, b] }, Text: yes, Few: !Or [!Condition Odd] }"
    refused = refusal_of(written(tmp_path, table_yaml(f"      BillingMode: {mode}", before=before)))
    assert part in refused
    assert "BillingMode" in refused or "Conditions." in refused


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("Replicas:", "Copies:", "Replicas is missing"),
        ("MaxCapacity: 200", "MaxCapacity: 2", "must not be below MinCapacity, 20"),
        ("TargetValue: 60", "TargetValue: 95", "must be 20 to 90 per cent"),
        ("TargetValue: 60", "TargetValue: most", "must be a number"),
        ("ReadCapacityUnits: 11", "Units: 11", "ReadCapacityAutoScalingSettings is missing"),
        ("Region: eu-central-1", "Place: eu-central-1", "Region is missing"),
    ],
)
def test_what_is_wrong_in_a_global_table_is_named(tmp_path: Path, old: str, new: str, part: str) -> None:
    template = (FILES / "players.yaml").read_text(encoding="utf-8")
    assert part in refusal_of(written(tmp_path, template.replace(old, new, 1)))


def test_the_message_names_file_place_value_and_what_is_allowed(tmp_path: Path) -> None:
    path = written(
        tmp_path, table_yaml("      ProvisionedThroughput: {ReadCapacityUnits: many, WriteCapacityUnits: 1}")
    )
    with pytest.raises(ImportFileError) as caught:
        import_file(path)
    (problem,) = caught.value.problems
    assert (problem.source, problem.value) == ("template.yaml", "'many'")
    assert problem.path == "Resources.Things.Properties.ProvisionedThroughput.ReadCapacityUnits"
    assert problem.message == "must be a whole number"


def test_without_pyyaml_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    assert refusal_of(FILES / "parcels.yaml").endswith("— pip install pyyaml")
    assert scenario_of(import_file(FILES / "parcels.json"))["table"]["name"] == "Parcels"


def test_a_template_in_json_flow_needs_no_yaml_either(tmp_path: Path) -> None:
    path = written(tmp_path, json.dumps(json.loads((FILES / "parcels.json").read_text(encoding="utf-8"))), "no_suffix")
    assert scenario_of(import_file(path)) == scenario_of(import_file(FILES / "parcels.json"))


def test_the_examples_are_ready_to_be_uncommented() -> None:
    text = import_file(FILES / "shops.yaml", table="carts")
    start = text.index("# [[traffic]]")
    loaded = loads(text[:start] + text[start:].replace("# [[", "[[").replace("\n# ", "\n"))
    assert [(pattern.name, pattern.operation.value) for pattern in loaded.traffic] == [
        ("reads", "GetItem"),
        ("writes", "PutItem"),
    ]
