"""A refusal as data: why something that was typed or imported cannot be accepted."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class InputRefusal:
    """A code, and the values that its sentence needs (`refusal_sentences.py`)."""

    code: str
    parameters: Mapping[str, str | int] = field(default_factory=dict)


def refuse(code: str, **parameters: str | int) -> InputRefusal:
    """Make a refusal; its parameters are those of the code's sentence."""
    return InputRefusal(code, parameters)
