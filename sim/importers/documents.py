"""From bytes on disk to a parsed document, and what a file that is not ours looks like."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sim.errors import ImportFileError
from sim.importers.base import refusal, refuse, shown

DOCUMENT_BYTES_MAX = 1_048_576  # of a template or a description; CloudFormation takes no larger template
MERGED_MEMBERS_MAX = 10_000  # of one YAML mapping after its merge keys
READ_FORMS = (
    "CloudFormation and SAM templates, describe-table output, create-table input, CSV traces and YCSB workload files"
)
_YAML_BOOL = "tag:yaml.org,2002:bool"
_YAML_SCALARS = {_YAML_BOOL, *(f"tag:yaml.org,2002:{kind}" for kind in ("int", "float", "null"))}
_TRUE_OR_FALSE = re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z")  # of YAML 1.2
_TERRAFORM = re.compile(
    r'^\s*(?:terraform|locals|(?:resource|data)\s+"[^"]+"\s+"[^"]+"|(?:module|provider|variable|output)\s+"[^"]+")\s*\{',
    re.MULTILINE,
)
_SCENARIO = re.compile(r"^\s*format\s*=\s*1\s*(?:#.*)?$", re.MULTILINE)
_TEMPLATE = re.compile(r"^(?:Resources|AWSTemplateFormatVersion|Transform)\s*:", re.MULTILINE)


def read_text(path: Path, *, bytes_max: int = DOCUMENT_BYTES_MAX, what: str = "a template or a description") -> str:
    """The text of a file, whatever Unicode encoding its editor or shell gave it."""
    source = path.name
    size, head = read_head(path, bytes_max)
    if size > bytes_max:
        refuse(source, f"is {size:,} bytes long; {what} has at most {bytes_max:,}")
    return decode(head, source=source)


def read_head(path: Path, count: int) -> tuple[int, bytes]:
    """Size of a file and its first bytes."""
    source = path.name
    try:
        if path.is_dir():
            refuse(source, "is a folder; name a file in it")
        size = path.stat().st_size
        with path.open("rb") as file:
            return size, file.read(count)
    except FileNotFoundError:
        refuse(source, "there is no such file", value=str(path))
    except (OSError, ValueError) as error:
        refuse(source, f"cannot be read: {getattr(error, 'strerror', None) or error}", value=str(path))


def decode(data: bytes, *, source: str) -> str:
    """Bytes as text; PowerShell's ``>`` writes UTF-16, and other editors a byte order mark."""
    encoding = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        refuse(source, "is not text in UTF-8", hint=f"this version reads {READ_FORMS}")
    if "\0" in text:
        refuse(source, "is a binary file", hint=f"this version reads {READ_FORMS}")
    if not text.strip():
        refuse(source, "is empty")
    return text


def parse_document(text: str, *, source: str) -> object:
    """A JSON or YAML text as plain Python values."""
    if text.lstrip().startswith(("{", "[")):
        return _parse_json(text, source=source)
    for looks_like, pattern in (("a Terraform file", _TERRAFORM), ("a scenario of ddbsim already", _SCENARIO)):
        if pattern.search(text):
            raise form_refusal(source, looks_like)
    return _parse_yaml(text, source=source)


def _parse_json(text: str, *, source: str) -> object:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data" and text[: error.pos].count("\n") <= error.lineno:
            refuse(
                source,
                f"holds more than one JSON document (the second from line {error.lineno})",
                hint="keep one in a file",
            )
        if _TEMPLATE.search(text):
            return _parse_yaml(text, source=source)
        refuse(source, f"is broken JSON: {error.msg}", path=f"line {error.lineno}, column {error.colno}")
    except RecursionError:
        refuse(source, "is nested too deeply")
    except ValueError as error:
        refuse(source, f"is broken JSON: {error}")


def _parse_yaml(text: str, *, source: str) -> object:
    try:
        import yaml
    except ImportError:
        refuse(source, "is YAML as it seems, and PyYAML is not installed", hint="pip install pyyaml")
    try:
        return yaml.load(text, Loader=_loader_class())  # a SafeLoader: see _loader_class
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
        refuse(
            source,
            f"is broken YAML: {error.problem or error.context}",
            path=place,
            hint=f"this version reads {READ_FORMS}",
        )
    except yaml.YAMLError as error:
        refuse(source, f"is broken YAML: {str(error).splitlines()[0]}", hint=f"this version reads {READ_FORMS}")
    except RecursionError:
        refuse(source, "is nested too deeply")
    except (ValueError, OverflowError, TypeError, KeyError, IndexError, AttributeError) as error:
        # PyYAML's own constructors let these through, for instance on the number 0x or on a sixty-first minute.
        refuse(source, f"is broken YAML: {error}")


@functools.cache
def _loader_class() -> Any:
    """PyYAML's safe loader with CloudFormation's short forms; the C loader is left alone, since deep nesting crashes it."""
    import yaml

    class TemplateLoader(yaml.SafeLoader):
        # Dates stay text, as CloudFormation reads them, and so do YAML 1.1's other words for true and false: a condition or a
        # parameter may be named Yes or Off.
        yaml_implicit_resolvers = {  # noqa: RUF012 - PyYAML declares it so
            first: [
                (tag, _TRUE_OR_FALSE if tag == _YAML_BOOL else pattern)
                for tag, pattern in entries
                if tag != "tag:yaml.org,2002:timestamp"
            ]
            for first, entries in yaml.SafeLoader.yaml_implicit_resolvers.items()
        }

        def compose_mapping_node(self, anchor: Any) -> Any:
            # PyYAML takes the last of equal keys and says nothing. Looked at here, before merge keys bring allowed ones.
            node = super().compose_mapping_node(anchor)
            seen: set[str] = set()
            for key, _ in node.value:
                if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
                    if key.value in seen:
                        sentence = f"the key {shown(key.value)} stands twice in one mapping"
                        raise yaml.constructor.ConstructorError(None, None, sentence, key.start_mark)
                    seen.add(key.value)
            return node

        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
            # Names are text: true, 0123 and null too.
            for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
                if isinstance(key, yaml.ScalarNode) and key.tag in _YAML_SCALARS:
                    key.tag = "tag:yaml.org,2002:str"
            return super().construct_mapping(node, deep=deep)

        def flatten_mapping(self, node: yaml.MappingNode) -> None:
            super().flatten_mapping(node)
            if len(node.value) > MERGED_MEMBERS_MAX:
                raise yaml.constructor.ConstructorError(
                    None, None, "merge keys make a mapping too large", node.start_mark
                )

    def short_form(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> object:
        if isinstance(node, yaml.ScalarNode):
            value: object = loader.construct_scalar(node)
        elif isinstance(node, yaml.SequenceNode):
            value = loader.construct_sequence(node, deep=True)
        else:
            assert isinstance(node, yaml.MappingNode)
            value = loader.construct_mapping(node, deep=True)
        return {suffix if suffix in {"Ref", "Condition"} else f"Fn::{suffix}": value}

    TemplateLoader.add_multi_constructor("!", short_form)
    return TemplateLoader


def unwrap(document: object) -> tuple[object, bool]:
    """The ``data`` of a recorded response, and whether there was a wrapper around it."""
    if isinstance(document, dict) and "status_code" in document and isinstance(document.get("data"), dict):
        return document["data"], True
    return document, False


def _has(*names: str) -> Callable[[dict[object, object]], bool]:
    return lambda document: all(name in document for name in names)


def _records(document: dict[object, object]) -> list[dict[object, object]]:
    records = document.get("Records")
    return [record for record in records if isinstance(record, dict)] if isinstance(records, list) else []


def _is_batch_write(document: dict[object, object]) -> bool:
    if "RequestItems" in document:
        return True
    lists = [value for value in document.values() if isinstance(value, list) and value]
    return bool(lists) and all(
        isinstance(items[0], dict) and ("PutRequest" in items[0] or "DeleteRequest" in items[0]) for items in lists
    )


_OTHER_FORMS: tuple[tuple[str, Callable[[dict[object, object]], bool]], ...] = (
    ("a NoSQL Workbench model", _has("DataModel")),
    ("a Terraform state or plan", lambda document: "terraform_version" in document),
    ("a DynamoDB Streams event", lambda document: any("dynamodb" in record for record in _records(document))),
    ("a CloudTrail log", lambda document: any("eventVersion" in record for record in _records(document))),
    ("a CloudTrail event", _has("eventSource", "eventName")),
    ("CloudWatch metric data", lambda document: "MetricDataResults" in document or "Datapoints" in document),
    ("an auto scaling history", _has("ScalingActivities")),
    ("an auto scaling description", lambda document: "ScalableTargets" in document or "ScalingPolicies" in document),
    (
        "a Contributor Insights report",
        lambda document: "Contributors" in document or "ContributorInsightsRuleList" in document,
    ),
    ("a manifest of an export to S3", lambda document: "manifestFilesS3Key" in document or "dataFileS3Key" in document),
    ("a DynamoDB data model of an AWS agent toolkit", lambda document: isinstance(document.get("tables"), list)),
    ("the input of batch-write-item", _is_batch_write),
    ("a list of table names; describe one with describe-table", _has("TableNames")),
    ("the answer of a query or a scan", lambda document: "Items" in document and "Count" in document),
    ("a serverless.yml; run `serverless package` and import the template that it writes", _has("service", "provider")),
    ("a Compose file", lambda document: isinstance(document.get("services"), dict)),
    ("a CDK project file; run `cdk synth` and import the template that it writes", _has("app", "context")),
)


def looks_like(document: object) -> str | None:
    """What a parsed document seems to be, if it is a known form that this version does not read."""
    if not isinstance(document, dict):
        return None
    return next((name for name, fits in _OTHER_FORMS if fits(document)), None)


def form_refusal(source: str, form: str | None) -> ImportFileError:
    """The refusal of a file of another kind, saying which and what can be read."""
    seems = f"looks like {form}" if form is not None else "is of no kind that is known here"
    return refusal(source, seems, hint=f"this version reads {READ_FORMS}")
