"""All guards named in docs/states.md, the decisions or the code's comments."""

from importlib import import_module
from pathlib import Path

from tests.guards.notation import Guard

FILES = sorted(Path(__file__).parent.glob("catalogue/*/*.py"))
GUARDS: tuple[Guard, ...] = tuple(
    guard
    for file in FILES
    for guard in import_module(f"tests.guards.catalogue.{file.parent.name}.{file.stem}").GUARDS
)
