"""Key designs of the literature, bad and good, each a function of its parameters that returns a `Design`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from models.designs.base import FIELDS, ROLE_MEANS, ROLES, Design, Keys, Role
from models.designs.hot import bad_date, bad_status, bad_tenant, bad_viral
from models.designs.spread import good_user

# By the names that the command line has for them, in the order in which they are told.
DESIGNS: Mapping[str, Callable[..., Design]] = MappingProxyType(
    {
        "bad-status": bad_status,
        "bad-date": bad_date,
        "bad-viral": bad_viral,
        "bad-tenant": bad_tenant,
        "good-user": good_user,
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
    "bad_date",
    "bad_status",
    "bad_tenant",
    "bad_viral",
    "good_user",
]
