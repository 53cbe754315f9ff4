"""Traces, series and workload files: popularity and rates out of what was measured."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from sim.errors import ImportFileError
from sim.importers import import_file
from sim.scenario import CsvField, CsvRate, StepsRate, loads, read_series, read_weights

FILES = Path(__file__).resolve().parent / "importer_files"
DEMO = Path(__file__).resolve().parent.parent / "models" / "demo_files"


def refusal_of(path: Path, **options: Any) -> str:
    with pytest.raises(ImportFileError) as caught:
        import_file(path, **options)
    return str(caught.value)


def written(folder: Path, text: str, name: str = "trace.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def patterns_of(text: str) -> dict[str, dict[str, Any]]:
    return {pattern["name"]: pattern for pattern in tomllib.loads(text)["traffic"]}


def requests_of(steps: list[list[float]], duration_s: float) -> float:
    ends = [second for second, _ in steps[1:]] + [duration_s]
    return sum(rate * (end - second) for (second, rate), end in zip(steps, ends, strict=True))


def test_a_trace_gives_keys_rates_operations_and_sizes() -> None:
    text = import_file(FILES / "parcels.json", traffic=FILES / "scans.csv", output_dir=FILES)
    found = tomllib.loads(text)
    assert found["duration"] == 360
    assert found["start"].isoformat() == "2026-05-01T10:00:00+00:00"
    assert found["fields"]["parcel_id"] == {"kind": "csv", "path": "scans.csv", "value": "Parcel_ID"}
    assert found["fields"]["scannedAt"] == {"kind": "csv", "path": "scans.csv", "value": "scanned_at"}
    patterns = patterns_of(text)
    assert list(patterns) == ["PutItem", "GetItem"]
    assert patterns["PutItem"]["rate"] == [[0, 0.666667], [180, 1.33333]]
    assert patterns["GetItem"]["rate"] == [[0, 0.333333], [180, 0.666667]]
    assert (patterns["PutItem"]["item_bytes"], patterns["GetItem"]["item_bytes"]) == (3000, 1000)


def test_the_comment_tells_how_skewed_the_trace_is() -> None:
    text = import_file(FILES / "parcels.json", traffic=FILES / "scans.csv", output_dir=FILES)
    assert "column Parcel_ID: 136 values in 540 rows; P1 has 75.0%" in text


@pytest.mark.parametrize("folder", ["", "deep/er"])
def test_the_scenario_finds_its_trace_from_where_it_is_written(tmp_path: Path, folder: str) -> None:
    trace = written(tmp_path, (FILES / "scans.csv").read_text(encoding="utf-8"))
    output = tmp_path / folder
    output.mkdir(parents=True, exist_ok=True)
    text = import_file(FILES / "parcels.json", traffic=trace, output_dir=output)
    field = tomllib.loads(text)["fields"]["parcel_id"]
    assert read_weights(CsvField(path=str(output / field["path"]), value=field["value"]))[1][0] == 405


def test_without_a_folder_paths_count_from_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, "key\na\nb\n")
    assert tomllib.loads(import_file("trace.csv"))["fields"]["key"]["path"] == "trace.csv"


@pytest.mark.parametrize(
    ("times", "start"),
    [
        (["2026-05-01T10:00:00Z", "2026-05-01T10:01:30Z"], "2026-05-01T10:00:00+00:00"),
        (["2026-05-01 12:00:00+02:00", "2026-05-01 12:01:30+02:00"], "2026-05-01T10:00:00+00:00"),
        (["1777629600", "1777629690.4"], "2026-05-01T10:00:00+00:00"),
        (["1777629600000", "1777629690400"], "2026-05-01T10:00:00+00:00"),
        (["1777629600000000", "1777629690400000"], "2026-05-01T10:00:00+00:00"),
        (["5", "95"], None),
        (["95", "5"], None),
    ],
)
def test_times_are_iso_or_numbers_in_any_unit(tmp_path: Path, times: list[str], start: str | None) -> None:
    trace = written(tmp_path, "timestamp,id\n" + "".join(f"{time},a\n" for time in times))
    found = tomllib.loads(import_file(trace, output_dir=tmp_path))
    assert found["duration"] == 91
    assert (found["start"].isoformat() if "start" in found else None) == start


@pytest.mark.parametrize(("span_s", "width_s"), [(300, 10), (301, 60), (30_000, 60), (30_001, 120), (864_000, 1740)])
def test_a_longer_trace_has_wider_steps(tmp_path: Path, span_s: int, width_s: int) -> None:
    # Requests at the two ends of the first minute tell the width: they are in one step or in two.
    moments = [0, *range(1, span_s, max(1, span_s // 2000)), span_s - 1]
    trace = written(tmp_path, "time,id\n" + "".join(f"{moment},a\n" for moment in moments))
    text = import_file(trace, output_dir=tmp_path)
    (pattern,) = patterns_of(text).values()
    assert len(pattern["rate"]) <= 500
    assert f"counted per {width_s} s" in text
    assert requests_of(pattern["rate"], span_s) == pytest.approx(len(moments), rel=1e-3)


def test_a_trace_without_times_leaves_the_rate_to_fill_in() -> None:
    text = import_file(FILES / "keys.csv")
    (pattern,) = patterns_of(text).values()
    assert pattern["rate"] == 100
    assert "rate = 100  # TO FILL IN, a placeholder: the trace has no times" in text
    assert "TO FILL IN: the rate" in text


def test_a_trace_of_one_moment_has_no_rate(tmp_path: Path) -> None:
    trace = written(tmp_path, "date,id,op\n2026-01-01,a,get\n2026-01-01,b,put\n2026-01-01,b,put\n2026-01-01,b,put\n")
    text = import_file(trace, output_dir=tmp_path)
    assert "column date holds one time only" in text
    assert {name: pattern["rate"] for name, pattern in patterns_of(text).items()} == {"PutItem": 75, "GetItem": 25}


def test_columns_that_no_attribute_names_are_taken_by_position(tmp_path: Path) -> None:
    trace = written(tmp_path, "time,who,what\n0,a,x\n9,b,y\n")
    text = import_file(FILES / "create_input.json", traffic=trace, output_dir=tmp_path)
    fields = tomllib.loads(text)["fields"]
    assert (fields["poll"]["value"], fields["voter"]["value"]) == ("who", "what")
    assert "Columns taken by position, since no column has the attribute's name: poll, voter" in text


def test_a_key_that_is_the_time_is_ever_increasing(tmp_path: Path) -> None:
    trace = written(tmp_path, "timestamp,device\n0,a\n9,b\n")
    document = (FILES / "described.json").read_text(encoding="utf-8").replace('"day"', '"timestamp"')
    text = import_file(written(tmp_path, document, "d.json"), traffic=trace, output_dir=tmp_path)
    fields = tomllib.loads(text)["fields"]
    assert fields["timestamp"] == {"kind": "sequence"}
    assert fields["device"]["value"] == "device"


def test_an_index_key_takes_its_column_by_name(tmp_path: Path) -> None:
    trace = written(tmp_path, "device,day,ALARM\na,1,fire\nb,2,fire\nc,1,water\n")
    text = import_file(FILES / "described.json", traffic=trace, output_dir=tmp_path)
    assert tomllib.loads(text)["fields"]["alarm"]["value"] == "ALARM"
    assert "fire has 66.7%" in text


def test_a_series_of_counts_gives_a_rate_and_no_popularity() -> None:
    text = import_file(FILES / "counts.csv", output_dir=FILES)
    found = tomllib.loads(text)
    assert found["duration"] == 6 * 3600
    assert found["fields"]["id"]["kind"] == "uniform"
    scenario = loads(text, base_dir=FILES)
    rate = scenario.traffic[0].rate
    assert isinstance(rate, CsvRate)
    assert (rate.per, read_series(rate)[1][-1]) == ("row", 500)


def test_a_series_in_seconds_since_1970_becomes_steps(tmp_path: Path) -> None:
    series = written(tmp_path, "timestamp,count\n" + "".join(f"{1777629600 + 60 * k},{k}\n" for k in range(2000)))
    text = import_file(series, output_dir=tmp_path)
    scenario = loads(text, base_dir=tmp_path)
    rate = scenario.traffic[0].rate
    assert isinstance(rate, StepsRate)
    assert len(rate.steps) <= 500
    total = requests_of([list(step) for step in rate.steps], scenario.duration)
    assert total == pytest.approx(sum(range(2000)), rel=1e-4)


def test_a_workload_file_becomes_patterns() -> None:
    text = import_file(FILES / "mix.properties")
    found = tomllib.loads(text)
    assert found["fields"]["key"] == {"kind": "zipf", "count": 5000, "exponent": 0.99}
    assert found["table"]["storage_bytes"] == 5_000_000
    patterns = patterns_of(text)
    assert {name: pattern["rate"] for name, pattern in patterns.items()} == {
        "read": 1200,
        "update": 200,
        "insert": 200,
        "scan": 200,
        "readmodifywrite-GetItem": 200,
        "readmodifywrite-UpdateItem": 200,
    }
    assert patterns["insert"]["pk"] == "{inserted_key}"
    assert (patterns["scan"]["items"], patterns["scan"]["limit"], patterns["scan"]["pages"]) == (5000, 50, 1)
    assert {pattern["item_bytes"] for pattern in patterns.values()} == {1000}
    assert "requestdistribution=latest favours the newest records" in text


def test_a_workload_can_run_on_a_table_of_the_users_own() -> None:
    text = import_file(FILES / "create_input.json", traffic=FILES / "mix.properties")
    found = tomllib.loads(text)
    assert found["fields"]["poll"]["kind"] == "zipf"
    assert found["table"]["name"] == "votes"


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("requestdistribution=hotspot", "this version reads requestdistribution uniform, zipfian, latest"),
        ("recordcount=-5", "recordcount must be a number from"),
        ("readproportion=often", "readproportion must be a number from 0 to 1 (given: 'often')"),
        ("fieldlength=1000000", "fieldlength must be a number from 1 to"),
        ("fieldlength=204800", "a DynamoDB item has at most"),
        ("just words", "must be name=value"),
    ],
)
def test_a_wrong_workload_is_refused_by_line(tmp_path: Path, line: str, part: str) -> None:
    text = (FILES / "mix.properties").read_text(encoding="utf-8").replace("requestdistribution=latest\n", "")
    assert part in refusal_of(written(tmp_path, f"{text}\n{line}\n", "w.properties"))


@pytest.mark.parametrize(
    ("trace", "part"),
    [
        ("timestamp,id\nsoon,a\n", "line 2: column timestamp holds no time (given: 'soon')"),
        ("timestamp,id\n5,a\n2026-01-01,b\n", "line 3: column timestamp holds no time"),
        ("timestamp,id\n5,a\nnan,b\n", "line 3: column timestamp holds no time"),
        ("timestamp,id\n0,a\n99999999999,b\n", "the times span more than ten years"),
        ("timestamp,id\n5,a\n6\n", "line 3: has 1 columns where the header has 2"),
        ("timestamp,id\n5,a\n6, \n", "line 3: column id is empty"),
        ("timestamp,id,op\n5,a,fly\n", "column op holds no operation (given: 'fly')"),
        ("timestamp;id\n5;a\n", "separates its columns by something else than commas"),
        ("id,id\na,b\n", "two columns have the same name (given: 'id')"),
        ("1,2\n3,4\n", "the first line must name the columns"),
        ("timestamp,value\n5,-1\n6,1\n", "column value must hold counts"),
        ("timestamp,value\n5,1\n5,1\n", "must increase from row to row"),
        ("timestamp,value\n5,1\n", "a series has at least two rows"),
        ("timestamp,id\n", "has a header and no rows"),
        (" ,\n,\n", "has no line that names columns"),
        ('timestamp,id\n5,"' + "a" * 200_000 + '"\n', "is broken CSV"),
        ('{"a": 1}', "looks like JSON; --traffic takes a CSV"),
    ],
)
def test_a_wrong_trace_is_refused_by_line(tmp_path: Path, trace: str, part: str) -> None:
    path = written(tmp_path, trace)
    assert part in refusal_of(FILES / "create_input.json", traffic=path, output_dir=tmp_path)


def test_traffic_has_no_tables_to_choose_from() -> None:
    assert "is traffic and holds no table to choose from" in refusal_of(FILES / "keys.csv", table="a")
    assert "is traffic and holds no table to choose from" in refusal_of(FILES / "mix.properties", parameters={"a": "b"})


def test_the_demo_needs_no_option() -> None:
    text = import_file(DEMO / "template.yaml", traffic=DEMO / "trace.csv", output_dir=DEMO)
    scenario = loads(text, base_dir=DEMO)
    assert (scenario.table.read_capacity, scenario.table.write_capacity, scenario.duration) == (300, 150, 1200)
    values, weights = read_weights(scenario.fields["merchant_id"])  # type: ignore[arg-type]
    assert max(weights) / sum(weights) == pytest.approx(0.72, abs=0.01)
    assert values[weights.index(max(weights))] == "m017"
    assert "mean of 989 rows, 8 units; the rows' own units have a mean of 8.06" in text  # reads, of 4 KB each


def test_the_demo_spends_its_burst_credit_before_it_ends() -> None:
    """By hand: units offered a second beyond 150 empty 300 s of credit within the last two minutes of the trace."""
    patterns = patterns_of(import_file(DEMO / "template.yaml", traffic=DEMO / "trace.csv", output_dir=DEMO))
    credit = 300 * 150.0
    dry_s = None
    for second in range(1200):
        offered = 0.0
        for name in ("PutItem", "UpdateItem"):
            rate = [per_s for start, per_s in patterns[name]["rate"] if start <= second][-1]
            offered += rate * -(-patterns[name]["item_bytes"] // 1024)
        credit = min(300 * 150.0, credit + 150 - offered)
        if credit < 0:
            dry_s = second
            break
    assert dry_s is not None
    assert 1080 <= dry_s < 1140
