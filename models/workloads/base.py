"""What a workload is: what an application needs of its table, and when, whatever the keys are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from models.designs.base import Keys, Role, refuse_other_roles
from models.parameters import a_count, a_list, a_mapping, a_text
from models.values import shown

# Of what comes, a table's previous peak: designs may take two or three units where another takes one, and twice the peak is there at once.
ROOM = 2.0
BATCH_MAX = 1_000_000  # that the scenario format takes; what AWS takes, a run tells


@dataclass(frozen=True, kw_only=True)
class Need:
    """One stream of requests.

    Attributes
    ----------
    name : label of the pattern in results.
    role : what is asked for; the design says which requests that becomes. None: ``keys`` say it all, whatever the design.
    keys : of the pattern, in the scenario format: its rate, sizes, window, client. They go over what the design has, each where it means
        something: a rate for the request itself, `consistent` for reads (not of a global index, which has no consistent ones),
        `condition_fails` for writes, sizes for all items but those of a kind of their own.
    batch : items of one request: puts and gets become batches of so many; what no batch takes, an update or a transaction, comes as many
        times instead. From 1 to 1,000,000.

    Raises
    ------
    ValueError
        There is no such role, or a part has another shape than this.
    """

    name: str
    role: Role | None = None
    keys: Keys = field(default_factory=dict)
    batch: int = 1

    def __post_init__(self) -> None:
        a_text("name", self.name)
        if self.role is not None:
            refuse_other_roles(self.role)
        a_mapping("keys", self.keys, "{'rate': …, …}")
        a_count("batch", self.batch, 1, BATCH_MAX)


@dataclass(frozen=True, kw_only=True)
class Workload:
    """What an application asks of its table.

    Attributes
    ----------
    name : as the command line has it.
    says : what it is, in one sentence, which holds whatever its fields are.
    duration : of the run, in the scenario format ("30m").
    needs : its streams of requests.
    fields : what the workload is about: the popularity of users, tenants, posts; it goes over what the design has.
    fields_say : what its parameters make of fields, a sentence each, by field.
    capacity : mode and capacity of a table that would carry this if every key were as good as any other, in the keys of the scenario
        format: what throttles then is the keys' doing.
    settings : further keys at the top of the scenario: start, level, tick, period.

    Raises
    ------
    ValueError
        A part has another shape than this: it is no text, mapping or list.
    """

    name: str
    says: str
    duration: str
    needs: Sequence[Need]
    fields: Mapping[str, Keys] = field(default_factory=dict)
    fields_say: Mapping[str, str] = field(default_factory=dict)
    capacity: Keys = field(default_factory=lambda: {"mode": "on-demand"})
    settings: Keys = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("name", "says"):
            a_text(name, getattr(self, name))
        for number, need in enumerate(a_list("needs", self.needs, "[Need(…), …]")):
            if not isinstance(need, Need):
                raise ValueError(f"needs[{number}] = {shown(need)}: must be a Need(…)")
        a_mapping("fields", self.fields, "{name: field}")
        for sentence in a_mapping("fields_say", self.fields_say, "{field: sentence}").values():
            a_text("fields_say: a sentence", sentence)
        a_mapping("capacity", self.capacity, "{'mode': …, …}")
        a_mapping("settings", self.settings)

    @property
    def told(self) -> str:
        """All that it says of itself."""
        return " ".join([self.says, *self.fields_say.values()])
