"""Whatever stands in a file: it becomes a scenario that loads, or is refused in a sentence; never another exception."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sim.errors import ImportFileError, ScenarioError
from sim.importers import import_file
from sim.importers.documents import parse_document
from sim.scenario import loads

FILES = Path(__file__).resolve().parent / "importer_files"
NOT_SIMULATED = "not simulated yet"


def outcome(content: bytes, *, name: str = "file", traffic: bytes | None = None) -> str:
    """What becomes of a file's bytes: "refused", or "read" after the text was loaded as a scenario."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        trace = Path(folder) / "trace.csv"
        if traffic is not None:
            trace.write_bytes(traffic)
        try:
            text = import_file(path, traffic=trace if traffic is not None else None, output_dir=folder)
        except ImportFileError as error:
            refused = error
        else:
            check_loads(text, folder)
            return "read"
    assert all(problem.source and problem.message for problem in refused.problems)
    assert len(str(refused)) < 4000
    return "refused"


def check_loads(text: str, folder: str) -> None:
    """A text loads, but for missing traffic and for what this version does not simulate yet."""
    try:
        loads(text, base_dir=folder)
    except ScenarioError as error:
        wrong = [
            problem for problem in error.problems if NOT_SIMULATED not in problem.message and problem.path != "traffic"
        ]
        assert wrong == []


def replaced(document: Any, place: list[int], value: object) -> Any:
    """A copy of a document with the value at a place (a walk by position) exchanged."""
    if not place or not isinstance(document, dict | list) or not document:
        return value
    at = place[0] % len(document)
    if isinstance(document, list):
        return [replaced(one, place[1:], value) if at == index else one for index, one in enumerate(document)]
    return {
        key: replaced(one, place[1:], value) if at == index else one
        for index, (key, one) in enumerate(document.items())
    }


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(
        ["AWS::NoValue", "HASH", "RANGE", "S", "PAY_PER_REQUEST", "5", "-1", "${A}", "a\nb", "\x7f#\u2028"]
    )
)
FUNCTIONS = st.sampled_from(
    [
        *("Ref", "Fn::Sub", "Fn::Join", "Fn::If", "Fn::Select", "Fn::Split", "Fn::FindInMap", "Fn::GetAtt", "Fn::And"),
        *("Fn::Equals", "Condition", "Fn::Not", "Fn::ImportValue", "IndexName", "KeySchema", "ProjectionType"),
    ]
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FUNCTIONS | st.text(max_size=5), inner, max_size=2),
    max_leaves=6,
)
SEEDS = [
    json.loads((FILES / name).read_text(encoding="utf-8"))
    for name in ("parcels.json", "described.json", "create_input.json", "snapshots.json", "recorded_updating.json")
] + [yaml.safe_load((FILES / name).read_text(encoding="utf-8")) for name in ("players.yaml", "shops.yaml")]


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(document=VALUES)
def test_any_json_is_read_or_refused(document: object) -> None:
    outcome(json.dumps(document).encode())


@settings(max_examples=8 * settings.default.max_examples)
@given(seed=st.sampled_from(SEEDS), place=st.lists(st.integers(0, 30), min_size=1, max_size=9), value=VALUES)
def test_a_file_with_one_value_exchanged_is_read_or_refused(seed: Any, place: list[int], value: object) -> None:
    outcome(json.dumps(replaced(seed, place, value)).encode())


@settings(max_examples=4 * settings.default.max_examples)
@given(seed=st.sampled_from(SEEDS), place=st.lists(st.integers(0, 30), min_size=1, max_size=9), value=VALUES)
def test_a_yaml_file_with_one_value_exchanged_is_read_or_refused(seed: Any, place: list[int], value: object) -> None:
    outcome(yaml.safe_dump(replaced(seed, place, value), allow_unicode=True).encode("utf-8", "replace"))


@given(content=st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    outcome(content)
    outcome((FILES / "create_input.json").read_bytes(), traffic=content)


@given(text=st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    outcome(text.encode("utf-8", "surrogatepass"))
    outcome((FILES / "create_input.json").read_bytes(), traffic=text.encode("utf-8", "surrogatepass"))


CELLS = st.text(alphabet="abcAB019.-:TZ \"'é", max_size=8) | st.sampled_from(
    ["2026-01-01T00:00:00Z", "1e308", "get", "5"]
)
NAMES = st.sampled_from(["timestamp", "id", "poll", "voter", "operation", "bytes", "value", "key", "date"]) | CELLS


@settings(max_examples=4 * settings.default.max_examples)
@given(
    header=st.lists(NAMES, min_size=1, max_size=5),
    rows=st.lists(st.lists(CELLS, min_size=1, max_size=6), max_size=6),
)
def test_any_table_of_cells_is_read_or_refused(header: list[str], rows: list[list[str]]) -> None:
    content = "\n".join(",".join(cells) for cells in [header, *rows]).encode()
    outcome(content)
    outcome((FILES / "create_input.json").read_bytes(), traffic=content)


@given(
    head=st.sampled_from(["recordcount=", "workload=CoreWorkload\n"]),
    lines=st.lists(
        st.tuples(st.sampled_from(["recordcount", "fieldcount", "readproportion", "target", "x"]), CELLS).map("=".join)
    ),
)
def test_any_workload_is_read_or_refused(head: str, lines: list[str]) -> None:
    outcome((head + "\n".join(lines)).encode())


CYCLE = "&a [*a]"
LAUGHS = "a0: &a0 [x, x]\n" + "".join(f"a{k}: &a{k} [*a{k - 1}, *a{k - 1}, *a{k - 1}]\n" for k in range(1, 40))
MERGES = "m0: &m0 {a: 1, b: 2}\n" + "".join(
    f"m{k}: &m{k} {{<<: [{', '.join([f'*m{k - 1}'] * 10)}]}}\n" for k in range(1, 12)
)
TEMPLATE = """
Resources:
  T:
    Type: AWS::DynamoDB::Table
    Properties:
      BillingMode: PAY_PER_REQUEST
      KeySchema: [{ AttributeName: id, KeyType: HASH }]
"""


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"\x00\x01\x02", "is a binary file"),
        (b"\x89PNG\r\n\x1a\n\xff\xfe", "is not text in UTF-8"),
        (b"\xff\xfe", "is empty"),
        (b"\xff\xfea", "is not text in UTF-8"),
        (b"{", "is broken JSON"),
        (b'{"Table": }', "line 1, column 11"),
        (b'{"a": 1}\n{"a": 2}', "holds more than one JSON document (the second from line 2)"),
        (b"[" * 100_000, "is nested too deeply"),
        (b'{"a":' * 100_000, "is nested too deeply"),
        (b"a: " + b"[" * 100_000, "is nested too deeply"),
        (b"a: [", "is broken YAML"),
        (b"a: !!python/object/apply:os.system [true]", "is broken YAML"),
        (b"a: !!python/name:os.system", "is broken YAML"),
        (b"--- a\n--- b\n", "is broken YAML"),
        (b"? [a]\n: b", "is broken YAML"),
        (b"Resources: {}\nResources: {}", "the key 'Resources' stands twice in one mapping"),
        (b"time;key\n5;a\n6;b\n", "separates its columns by something else than commas"),
        (b"time\tkey\n5\ta\n6\tb\n", "separates its columns by something else than commas"),
        (b"2026-01-01T00:00:00Z,a\n2026-01-01T00:00:01Z,b\n", "the first line must name the columns"),
        (b"AWSTemplateFormatVersion: a\nResources: !!binary aGFsbG8=\n", "binary data of 5 bytes"),
        (b"a: 0x", "is of no kind that is known here"),
        (b"a: 0b", "is of no kind that is known here"),
        (b"just some words", "is of no kind that is known here"),
        (b"[1, 2]", "is of no kind that is known here"),
        (b"{}", "is of no kind that is known here"),
        (b"Resources: " + CYCLE.encode(), "is of no kind that is known here"),
        (b"Transform: x\n" + LAUGHS.encode(), "is of no kind that is known here"),
        (b"x" * 1_048_577, "is 1,048,577 bytes long; a template or a description has at most 1,048,576"),
        (b"<html><body>no</body></html>", "is of no kind that is known here"),
        (b'format = 1\nduration = "1h"\n', "looks like a scenario of ddbsim already"),
    ],
)
def test_what_cannot_be_read_is_refused_in_a_sentence(tmp_path: Path, content: bytes, part: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(ImportFileError) as caught:
        import_file(path)
    assert part in str(caught.value)


def test_a_missing_file_a_folder_and_an_impossible_name_are_refused(tmp_path: Path) -> None:
    for path, part in ((tmp_path / "no.yaml", "there is no such file"), (tmp_path, "is a folder")):
        with pytest.raises(ImportFileError, match=part):
            import_file(path)
    for name in ("a\0b", "x" * 5000, "\ud800"):
        with pytest.raises(ImportFileError):
            import_file(tmp_path / name)


@pytest.mark.parametrize(
    "properties",
    [
        "      Tags: &a [*a]",
        "      WarmThroughput: &a { ReadUnitsPerSecond: *a }",
        "      GlobalSecondaryIndexes: &a [*a]",
        "      TableName: &a !Join ['', [*a]]",
        "      TableName: &a { Ref: *a }",
        "      TableName: &a { 'Fn::Join': ['', [*a, *a]] }",
        "      TableName: &a { 'Fn::Sub': ['${x}${x}', { x: *a }] }",
    ],
)
def test_a_document_that_holds_itself_ends(properties: str) -> None:
    assert outcome((TEMPLATE + properties).encode()) in {"read", "refused"}


def test_merge_keys_that_grow_end() -> None:
    assert outcome(MERGES.encode()) == "refused"


def test_texts_that_grow_by_aliases_end() -> None:
    chain = "x0: &x0 { 'Fn::Join': ['', [abcdefghij, abcdefghij]] }\n" + "".join(
        f"x{k}: &x{k} {{ 'Fn::Join': ['', [*x{k - 1}, *x{k - 1}, *x{k - 1}]] }}\n" for k in range(1, 30)
    )
    assert outcome((chain + TEMPLATE + "      TableName: *x29").encode()) == "refused"


def test_text_from_a_file_cannot_leave_its_comment_or_its_quotes(tmp_path: Path) -> None:
    nasty = 'x"\n[table]\nmode = "provisioned" # \u2028\x7f\\'
    document = {
        "TableName": nasty,
        "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": [{"AttributeName": nasty, "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": nasty, "AttributeType": "S"}],
    }
    path = tmp_path / "x.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    text = import_file(path)
    check_loads(text, str(tmp_path))
    assert text.count("[table]\n") == 1


def test_half_a_surrogate_pair_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(
        '{"TableName": "a\\ud800", "KeySchema": [{"AttributeName": "\\udfff", "KeyType": "HASH"}], '
        '"BillingMode": "PAY_PER_REQUEST"}',
        encoding="utf-8",
    )
    import_file(path).encode()


def test_merge_keys_may_bring_a_key_that_stands_there_already() -> None:
    text = "a: &a {x: 1, y: 2}\nb: &b {<<: *a, x: 3}\nc: {<<: *b, x: 4}\n"
    document = parse_document(text, source="a.yaml")
    assert document == {"a": {"x": 1, "y": 2}, "b": {"x": 3, "y": 2}, "c": {"x": 4, "y": 2}}


def test_a_template_of_many_tables_names_a_dozen(tmp_path: Path) -> None:
    tables = {f"Table{number:02}": {"Type": "AWS::DynamoDB::Table", "Properties": {}} for number in range(40)}
    path = tmp_path / "many.json"
    path.write_text(json.dumps({"Resources": tables}))
    with pytest.raises(ImportFileError, match=r"has 40 tables: .*Table11 and 28 more"):
        import_file(path)
