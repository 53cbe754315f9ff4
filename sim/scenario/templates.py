"""Key templates: text with fields in braces."""

from __future__ import annotations

from functools import lru_cache


@lru_cache(maxsize=4096)
def parse_template(template: str) -> tuple[tuple[str, str | None], ...]:
    """Split a template into its parts.

    Parameters
    ----------
    template : text such as ``"TENANT#{tenant}#USER#{user}"``.

    Returns
    -------
    tuple of (literal, field)
        Each literal is followed by its field; the last field is None if the template ends in text (or has no field):
        ``(("TENANT#", "tenant"), ("#USER#", "user"))``, ``(("ALL", None),)``.

    Raises
    ------
    ValueError
        Braces that do not pair, that are nested, or with nothing between them.
    """
    parts: list[tuple[str, str | None]] = []
    rest = template
    while "{" in rest or "}" in rest:
        literal, opening, after = rest.partition("{")
        if "}" in literal or not opening:
            raise ValueError("has a closing brace } without an opening one before it")
        name, closing, rest = after.partition("}")
        if "{" in name:
            raise ValueError("has a brace { inside braces; a field is written with single braces, {field}")
        if not closing:
            raise ValueError("has an opening brace { that is never closed")
        if not name.strip():
            raise ValueError("has braces with no field name in them")
        parts.append((literal, name))
    if rest or not parts:
        parts.append((rest, None))
    return tuple(parts)


def fields_of(template: str) -> tuple[str, ...]:
    """Names of the fields in a template, in order, each once."""
    return tuple(dict.fromkeys(field for _, field in parse_template(template) if field is not None))
