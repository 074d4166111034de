"""The only place that puts values into HTML. Everything is escaped unless it is markup already."""

from html import escape


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def fill(template: str, **values: object) -> Markup:
    """The template with `{names}` replaced by the values, escaped."""
    return Markup(template.format(**{name: _safe(value) for name, value in values.items()}))


def joined(parts: list[Markup]) -> Markup:
    """Pieces of markup one after the other, each on its own line."""
    return Markup("\n".join(parts))


def counted(number: int, one: str, many: str) -> str:
    """`1 message`, `41,412 messages`."""
    return f"{number:,} {one if number == 1 else many}"


def _safe(value: object) -> str:
    return value if isinstance(value, Markup) else escape(str(value))
