"""What a workload is: what an application needs of its table, and when, whatever the keys are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from models.designs.base import Keys, Role

# Of what comes, a table's previous peak: designs may take two or three units where another takes one, and twice the peak is there at once.
ROOM = 2.0


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
        times instead.
    """

    name: str
    role: Role | None = None
    keys: Keys = field(default_factory=dict)
    batch: int = 1


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
    """

    name: str
    says: str
    duration: str
    needs: Sequence[Need]
    fields: Mapping[str, Keys] = field(default_factory=dict)
    fields_say: Mapping[str, str] = field(default_factory=dict)
    capacity: Keys = field(default_factory=lambda: {"mode": "on-demand"})
    settings: Keys = field(default_factory=dict)

    @property
    def told(self) -> str:
        """All that it says of itself."""
        return " ".join([self.says, *self.fields_say.values()])
