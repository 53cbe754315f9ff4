"""What a notebook shows of a scenario, and the HTML tables that results are shown in too.

No colour of our own is set, so that a table is as well read on a notebook's dark theme as on its light one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from html import escape

from sim.errors import printable
from sim.names import Level, Mode
from sim.scenario.autoscaling import Autoscaling
from sim.scenario.rates import CsvRate, DiurnalRate, RampRate, Rate, SpikeRate, StepsRate
from sim.scenario.table import Gsi, Lsi, Table
from sim.scenario.traffic import Traffic

TEXT_CHARACTERS_MAX = 300
_ROWS_MAX = 20
_TABLE = "margin:0 0 0.8em 0"  # notebooks centre tables
_CELL = "text-align:left;vertical-align:top"
_NUMBER = "text-align:right;vertical-align:top"


def shown(text: str, longest: int = TEXT_CHARACTERS_MAX) -> str:
    """Any text as HTML on one line: escaped, control characters as such, a very long one cut."""
    return escape(printable(printable(text), longest))  # cut by what is shown, escapes included


def table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: Collection[str] = (), bold: Collection[int] = ()
) -> str:
    """A table of HTML; all cells are escaped here.

    Parameters
    ----------
    numbers : heads of columns that are set to the right.
    bold : numbers of rows that stand out.
    """

    def cell(kind: str, head: str, text: str) -> str:
        return f'<{kind} style="{_NUMBER if head in numbers else _CELL}">{text}</{kind}>'

    top = "".join(cell("th", head, escape(head)) for head in heads)
    body = []
    for place, row in enumerate(rows):
        texts = [f"<b>{shown(text)}</b>" if place in bold else shown(text) for text in row]
        body.append(f"<tr>{''.join(cell('td', head, text) for head, text in zip(heads, texts, strict=True))}</tr>")
    return f'<table style="{_TABLE}"><thead><tr>{top}</tr></thead><tbody>{"".join(body)}</tbody></table>'


def page(
    *,
    title: str,
    description: str,
    duration_s: float,
    level: Level,
    also: Sequence[str],
    table_: Table,
    traffic: Sequence[Traffic],
    notes: Sequence[str],
) -> str:
    """A scenario as a notebook shows it: what it is, its table and indexes, a row for each access pattern, and its warnings.

    Parameters
    ----------
    also : what else is said of the whole, in a word or two each.
    """
    parts = [f"<p><b>{shown(title or table_.name)}</b> ({', '.join([_time(duration_s), f'{level} level', *also])})"]
    if description:
        parts.append(f"<br>{shown(description)}")
    parts.append("</p>")
    keys = [("table", table_.name, table_.pk, table_.sk or "-", _capacity(table_, table_.mode), _more(table_))]
    keys += [
        ("global index", gsi.name, gsi.pk, gsi.sk or "-", _capacity(gsi, table_.mode), _entries(gsi))
        for gsi in table_.gsi
    ]
    keys += [("local index", lsi.name, table_.pk, lsi.sk, "the table's", _entries(lsi)) for lsi in table_.lsi]
    parts.append(table(("", "name", "partition key", "sort key", "capacity", ""), keys))
    rows = [(t.name, str(t.operation), _where(t), _rate(t), f"{t.item_bytes:,}") for t in traffic[:_ROWS_MAX]]
    parts.append(table(("pattern", "operation", "keys", "requests/s", "item bytes"), rows, numbers=("item bytes",)))
    if len(traffic) > _ROWS_MAX:
        parts.append(f"<p>… and {len(traffic) - _ROWS_MAX:,} more patterns</p>")
    if notes:
        parts.append(f"<ul>{''.join(f'<li>{shown(note)}</li>' for note in notes)}</ul>")
    return "".join(parts)


def _number(value: float) -> str:
    return f"{value:,.6g}" if value < 1e6 else f"{value:,.0f}"


def _time(seconds: float) -> str:
    """A time in the largest units that tell it exactly: ``1h30m``, ``1m30s``, ``30d``."""
    if seconds != int(seconds) or seconds == 0:
        return f"{seconds:g}s"
    rest, text = int(seconds), ""
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "m"), (1, "s")):
        many, rest = divmod(rest, size)
        text += f"{many}{unit}" if many else ""
    return text


def _capacity(resource: Table | Gsi, mode: Mode) -> str:
    """What a table or index may be asked for."""
    words = list(_rates(resource, mode))
    warm = [_pair("warm", resource.warm_read, resource.warm_write)] if mode is Mode.ON_DEMAND else []
    words += [text for text in warm if text]
    if resource.autoscaling is not None:
        words += _scaled(resource.autoscaling)
    begin = [str(mode)] if isinstance(resource, Table) else []
    return ": ".join([*begin, "; ".join(words)] if words else begin) or str(mode)


def _rates(resource: Table | Gsi, mode: Mode) -> Iterator[str]:
    if mode is Mode.PROVISIONED:
        yield _pair("", resource.read_capacity, resource.write_capacity)
    elif text := _pair("at most", resource.max_read, resource.max_write):
        yield text


def _pair(what: str, read: float | None, write: float | None) -> str:
    """Units per second of reads and writes, those that are given."""
    rates = [
        f"{_number(value)} {side} units/s" for side, value in (("read", read), ("write", write)) if value is not None
    ]
    return f"{what} {', '.join(rates)}".strip() if rates else ""


def _scaled(scaling: Autoscaling) -> Iterator[str]:
    for side, target in (("read", scaling.read), ("write", scaling.write)):
        if target is not None:
            yield f"{side}s scaled from {_number(target.min)} to {_number(target.max)} at {100 * target.target_utilization:g} %"


def _more(table_: Table) -> str:
    """What else a table begins with or has."""
    words = []
    if table_.partitions is not None:
        words.append(f"{table_.partitions:,} partitions")
    if table_.streams:
        words.append("streams")
    if table_.replicas:
        words.append(f"{table_.replicas} further regions")
    return ", ".join(words)


def _entries(index: Gsi | Lsi) -> str:
    """What an index keeps of which items."""
    size = f", {index.projected_bytes:,} bytes" if index.projected_bytes is not None else ""
    present = f", of {100 * index.present:.3g} % of items" if isinstance(index, Gsi) and index.present < 1 else ""
    return f"{index.projection}{size}{present}"


def _where(traffic: Traffic) -> str:
    """Which keys or index a pattern asks for, where they are not simply the table's."""
    words = [f"index {traffic.index}"] if traffic.index is not None else []
    words += [template for template in (traffic.pk, traffic.sk) if template is not None]
    words += [f"{field} = {value}" for field, value in traffic.where.items()]
    if traffic.partition is not None:
        words.append(f"partition {traffic.partition}")
    return ", ".join(words) or "the table's"


def _rate(traffic: Traffic) -> str:
    """How much comes of a pattern, over time."""
    if traffic.threads is not None:
        return f"{traffic.threads:,} threads"
    if traffic.follows is not None:
        return f"{_number(traffic.follows.per)} after each {traffic.follows.traffic}"
    many = f", each of {traffic.batch:,} items" if traffic.batch > 1 else ""
    return f"{_course(traffic.rate)}{many}" if traffic.rate is not None else "-"


def _course(rate: Rate) -> str:
    if isinstance(rate, StepsRate):
        steps = [f"{_number(per_s)} from {_time(at_s)}" for at_s, per_s in rate.steps]
        return ", ".join(steps if len(steps) <= 4 else [*steps[:3], f"and {len(steps) - 3} more steps"])
    if isinstance(rate, RampRate):
        return f"{_number(rate.from_)} to {_number(rate.to)} over {_time(rate.over)}"
    if isinstance(rate, SpikeRate):
        return f"{_number(rate.base)}, {_number(rate.peak)} from {_time(rate.at)} for {_time(rate.lasting)}"
    if isinstance(rate, DiurnalRate):
        return f"{_number(rate.mean)} on average, {_number(rate.peak)} at {_clock(rate.peak_at)} UTC"
    if isinstance(rate, CsvRate):
        return f"from {rate.path}"
    return _number(rate)


def _clock(time_of_day_s: float) -> str:
    minutes = int(time_of_day_s) // 60
    return f"{minutes // 60:02d}:{minutes % 60:02d}"
