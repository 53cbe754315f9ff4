"""Key designs of the literature, bad and good, each a function of its parameters that returns a `Design`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from models.designs.base import FIELDS, ROLE_MEANS, ROLES, Design, Keys, Role
from models.designs.hot import bad_date, bad_status, bad_tenant, bad_viral
from models.designs.indexes import composite_sk, lsi_gsi, projection, sparse
from models.designs.relations import adjacency, denorm
from models.designs.sharding import good_sharded_gsi, shard_hash, shard_random
from models.designs.spread import good_store, good_tenant_user, good_user

# By the names that the command line has for them, in the order in which they are told.
DESIGNS: Mapping[str, Callable[..., Design]] = MappingProxyType(
    {
        "bad-status": bad_status,
        "bad-date": bad_date,
        "bad-viral": bad_viral,
        "bad-tenant": bad_tenant,
        "good-user": good_user,
        "good-tenant-user": good_tenant_user,
        "good-store": good_store,
        "good-sharded-gsi": good_sharded_gsi,
        "shard-random": shard_random,
        "shard-hash": shard_hash,
        "adjacency": adjacency,
        "denorm": denorm,
        "sparse": sparse,
        "projection": projection,
        "lsi-gsi": lsi_gsi,
        "composite-sk": composite_sk,
    }
)

__all__ = [
    "DESIGNS",
    "FIELDS",
    "ROLES",
    "ROLE_MEANS",
    "Design",
    "Keys",
    "Role",
    "adjacency",
    "bad_date",
    "bad_status",
    "bad_tenant",
    "bad_viral",
    "composite_sk",
    "denorm",
    "good_sharded_gsi",
    "good_store",
    "good_tenant_user",
    "good_user",
    "lsi_gsi",
    "projection",
    "shard_hash",
    "shard_random",
    "sparse",
]
