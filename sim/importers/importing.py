"""`import_file`: a user's own file in, the TOML of a scenario out."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from sim.errors import ImportFileError
from sim.importers.base import TableDraft, TrafficDraft, refuse
from sim.importers.cloudformation import is_template, read_template
from sim.importers.describe_table import find_tables, read_described_table
from sim.importers.documents import (
    DOCUMENT_BYTES_MAX,
    decode,
    form_refusal,
    looks_like,
    parse_document,
    read_head,
    read_text,
    unwrap,
)
from sim.importers.traces import HEAD_BYTES, looks_like_trace, read_trace, trace_table
from sim.importers.writing import write_scenario
from sim.importers.ycsb import looks_like_workload, read_workload, workload_table
from sim.scenario.base import found_in
from sim.scenario.scenario import Scenario


def import_file(
    path: str | Path,
    *,
    traffic: str | Path | None = None,
    table: str | None = None,
    parameters: Mapping[str, str] | None = None,
    output_dir: str | Path | None = None,
) -> str:
    """Turn a file that a user has into a scenario.

    The kind of file is told by what stands in it: CloudFormation and SAM templates (YAML or JSON), describe-table output and
    create-table input, CSV traces, YCSB workload files.

    Parameters
    ----------
    path : the file.
    traffic : a CSV trace (time and key columns) or a YCSB workload; sets rates, operations, sizes and the popularity of keys.
    table : table name or logical id, where the file has several.
    parameters : CloudFormation's parameters by name, for those without a default.
    output_dir : folder that the scenario will be written to, from which it refers to the trace. None: the working directory.

    Returns
    -------
    str
        TOML with the origin of each line in a comment. Without `traffic` it lacks traffic, and holds examples as comments.

    Raises
    ------
    ImportFileError
        The file cannot become a scenario; each problem names its place and what to do.
    """
    main = Path(path)
    folder = Path(output_dir) if output_dir is not None else Path()
    draft, load = _read_main(
        main, table=table, parameters=parameters or {}, folder=folder, has_traffic=traffic is not None
    )
    name = main.name
    traffic_name = name
    if traffic is not None:
        traffic_path = Path(traffic)
        traffic_name = traffic_path.name
        load = _read_traffic(traffic_path, draft, folder)
    text = write_scenario(draft, load, file_name=name, traffic_name=traffic_name)
    complete = text if load is not None else write_scenario(draft, load, file_name=name, example=True)
    _check(complete, source=f"{name}, as a scenario", folder=folder)
    return text


def _read_main(
    path: Path, *, table: str | None, parameters: Mapping[str, str], folder: Path, has_traffic: bool
) -> tuple[TableDraft, TrafficDraft | None]:
    source = path.name
    size, head_bytes = read_head(path, HEAD_BYTES)
    head = decode(_whole_characters(head_bytes, size), source=source)
    is_workload = looks_like_workload(head)
    is_trace = not is_workload and looks_like_trace(head)
    if (is_workload or is_trace) and (table is not None or parameters):
        option = "--table" if table is not None else "--parameter"
        refuse(
            source, "is traffic and holds no table to choose from", path=option, hint="import a template with --traffic"
        )
    if is_workload:
        draft = workload_table(path)
        return draft, None if has_traffic else read_workload(path, table=draft)
    if is_trace:
        draft = trace_table(path)
        return draft, None if has_traffic else read_trace(path, table=None, output_dir=folder)
    if size > DOCUMENT_BYTES_MAX:
        refuse(source, f"is {size:,} bytes long; a template or a description has at most {DOCUMENT_BYTES_MAX:,}")
    document, wrapped = unwrap(parse_document(read_text(path), source=source))
    if isinstance(document, dict) and is_template(document):
        return read_template(document, source=source, wanted=table, given=parameters), None
    if parameters:
        refuse(source, "only templates have parameters", path="--parameter")
    if find_tables(document):
        return read_described_table(document, source=source, wanted=table, wrapped=wrapped), None
    raise form_refusal(source, looks_like(document))


def _whole_characters(head: bytes, size: int) -> bytes:
    """The head of a file without a last line that was cut in the middle."""
    return head if len(head) == size or b"\n" not in head else head[: head.rfind(b"\n") + 1]


def _read_traffic(path: Path, draft: TableDraft, folder: Path) -> TrafficDraft:
    size, head_bytes = read_head(path, HEAD_BYTES)
    head = decode(_whole_characters(head_bytes, size), source=path.name)
    if looks_like_workload(head):
        return read_workload(path, table=draft)
    if head.lstrip().startswith(("{", "[")):
        refuse(path.name, "looks like JSON; --traffic takes a CSV with a line of column names, or a YCSB workload file")
    return read_trace(path, table=draft, output_dir=folder)


def _check(text: str, *, source: str, folder: Path) -> None:
    """Refuse what the scenario format does not allow, so that an imported scenario always loads.

    What the format knows and this version does not simulate yet is let through: running the scenario says so, with its cure.
    """
    try:
        Scenario.model_validate(tomllib.loads(text), context={"base_dir": str(folder)})
    except ValidationError as error:
        raise ImportFileError([found.problem(source) for found in found_in(error)]) from error
