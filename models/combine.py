"""Designs under workloads: as scenarios, and side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import sim
from models.arguments import a_design, a_workload, labelled
from models.capacity import MADE, capacity_of
from models.designs.base import FIELDS, Design, names_in
from models.parameters import a_mapping, a_number
from models.patterns import patterns_of
from models.values import plain
from models.workloads.base import Workload


def scenario(
    design: Design | str,
    workload: Workload | str,
    *,
    title: str | None = None,
    settings: Mapping[str, Any] | None = None,
    **capacity: Any,
) -> sim.Scenario:
    """A design under a workload, as a scenario.

    Indexes have the capacity of their table. On demand they are as warm as its previous peak made it, if nothing is said of warm
    throughput; as nobody bought that, it is not on the bill.

    Parameters
    ----------
    design, workload : as functions of `models.designs` and `models.workloads` make them; or their names, "good-user" and "flash-sale",
        which stand for them with their default parameters.
    title : None: both names, the design's with its variant.
    settings : further keys at the top of the scenario, such as ``{"seed": 3, "level": "request"}``, over the workload's own. Its ``fields``
        go over those of workload and design, one by one: ``{"fields": {"user": {"kind": "uniform", "count": 500}}}``.
    capacity : keys of the table in the scenario format. With a mode, mode and capacity instead of the workload's own:
        ``mode="provisioned", write_capacity=2000, read_capacity=500``. Without one they go over the workload's own, one by one:
        ``partitions=5, table_class="standard-ia"``; None takes one away.

    Raises
    ------
    sim.ScenarioError
        The two do not make a scenario together, or a setting is none.
    ValueError
        Some of what is warm is stated, and so bought, and some has grown with a previous peak: a bill has both or none.
        A setting is ``table`` or ``traffic``, which design and workload make, or a key of the table. A capacity is a key of the design
        (`pk`, `sk`, `gsi`, `lsi`), no key of a table, or one of the other mode than the workload's while no mode is given.
        No design or workload has a name that is given.
    TypeError
        Design or workload is none: they are exchanged, or are functions that nobody called.
    """
    design, workload = a_design("design", design), a_workload("workload", workload)
    capacity = capacity_of(design, workload, capacity)
    table = design.table_keys(**capacity)
    traffic = [pattern for need in workload.needs for pattern in patterns_of(design, need)]
    own = {} if settings is None else a_mapping("settings", plain(settings), "{'seed': 3, …}")
    given, own_fields = _settings(plain(workload.settings), own)
    fields = _fields({**FIELDS, **plain(design.fields), **plain(workload.fields)}, own_fields, table, traffic)
    if cost := _cost(design, given, capacity):
        given["cost"] = cost
    document = {
        "format": 1,
        "title": f"{design.title} under {workload.name}" if title is None else title,
        "description": _description(design, workload, fields),
        "shows": [design.shows],
        "duration": workload.duration,
        **given,
        "fields": fields,
        "table": table,
        "traffic": traffic,
    }
    return sim.from_dict(plain(document), f"{design.title} under {workload.name}")


def compare(
    designs: Iterable[Design | str] | Mapping[str, Design | str],
    workload: Workload | str,
    *,
    max_throttled: float = 0.01,
    settings: Mapping[str, Any] | None = None,
    **capacity: Any,
) -> sim.Comparison:
    """Run several designs under the same workload, and put them side by side.

    ``compare(...).plot()`` draws them as small multiples; arguments beyond the first two are those of `scenario` and `sim.compare`.

    Parameters
    ----------
    designs : designs or names, which are called by their titles; or by labels of your own, ``{"10 shards": shard_hash(shards=10), …}``.
    max_throttled : share of attempts throttled, and of requests failed, up to which a design may be called the cheapest; from 0 to 1.

    Raises
    ------
    ValueError
        There are no designs, or two of the same title: give labels, which are texts and not empty. Or ``max_throttled`` is no share.
    TypeError
        The first argument is one design rather than several, or no design at all.
    """
    by_label, workload = labelled(designs), a_workload("workload", workload)
    share = a_number("max_throttled", max_throttled, 0, 1)
    scenarios = {
        label: scenario(design, workload, title=label, settings=settings, **capacity)
        for label, design in by_label.items()
    }
    results = {label: sim.run(one) for label, one in scenarios.items()}
    return sim.compare(results, max_throttled=share)


def _description(design: Design, workload: Workload, fields: Mapping[str, Any]) -> str:
    """What both say, without what one of them says of a field that the scenario has not, or has from somebody else."""
    sentences = []
    for part in (design, workload):
        hold = [says for name, says in part.fields_say.items() if fields.get(name) == plain(part.fields.get(name))]
        sentences += [part.says, *hold]
    return " ".join(dict.fromkeys(filter(None, sentences)))


def _settings(of_workload: Mapping[str, Any], settings: Mapping[str, Any]) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """Keys at the top of the scenario, those of the user over the workload's; and the fields among them."""
    given = {**of_workload, **settings}
    for key, cure in MADE.items():
        if key in given:
            raise ValueError(f"settings: {key} is none of them: {cure}")
    for key in given:
        if key in sim.Table.model_fields and key not in sim.Scenario.model_fields:
            raise ValueError(f"settings: {key} is none of them, but a key of the table: {MADE['table']}")
    fields: dict[str, Any] = {}
    for own in (of_workload, settings):
        fields.update(a_mapping("settings: fields", own.get("fields", {}), "{name: field}"))
    given.pop("fields", None)
    return given, fields


def _cost(design: Design, given: Mapping[str, Any], capacity: Mapping[str, Any]) -> dict[str, Any]:
    """The section of the bill; what indexes have grown warm by with their table, nobody bought."""
    cost = given.get("cost", {})
    grown = design.grown(**capacity)
    if not grown or not isinstance(cost, Mapping) or "warm_bought" in cost:
        return cost  # type: ignore[no-any-return]  # whatever it is: from_dict refuses it
    if stated := design.warm(**capacity):
        name, more = next(iter(grown.items()))
        raise ValueError(
            f"{stated[0]} is bought, and {next(iter(more))} of the index {name} would have grown with its table's peak, which costs "
            "nothing: a bill has both or none. State all of them or none of them, or settings={'cost': {'warm_bought': False}}"
        )
    return {**cost, "warm_bought": False}


def _fields(
    known: Mapping[str, Any], own: Mapping[str, Any], table: Mapping[str, Any], traffic: list[dict[str, Any]]
) -> dict[str, Any]:
    """The fields that the keys draw from, and the user's own, used or not: of one that is not used the scenario's notes tell.

    What has not the form of keys is passed over here, for the scenario refuses it where it stands.
    """
    known = {**known, **own}
    wanted = names_in(table.get("pk")) | names_in(table.get("sk")) | set(own)
    for index in (*table.get("gsi", ()), *table.get("lsi", ())):
        wanted |= names_in(index.get("pk")) | names_in(index.get("sk"))
    for pattern in traffic:
        actions, where, scatter = (pattern.get(key) for key in ("actions", "where", "scatter"))
        for keys in (pattern, *(actions if isinstance(actions, list | tuple) else ())):
            if isinstance(keys, Mapping):
                wanted |= names_in(keys.get("pk")) | names_in(keys.get("sk"))
        wanted |= set(where) if isinstance(where, Mapping) else set()
        wanted |= {scatter} if isinstance(scatter, str) else set()
    found = [known[name] for name in wanted if name in known]
    wanted |= {str(one["of"]) for one in found if isinstance(one, Mapping) and "of" in one}
    return {name: known[name] for name in sorted(wanted) if name in known}
