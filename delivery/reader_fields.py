"""The fields of a reader besides the address. docs/architecture.md says how to add one."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReaderField:
    """One field. `name` is its column, merge field, form control, CSV column and API key; `example`
    is for previews, `fallback` for readers without a value; commas separate `headers` of an
    import."""

    name: str
    label: str
    example: str
    fallback: str
    autocomplete: str
    headers: str = ""
    longest: int = 256

    @property
    def with_fallback(self) -> str:
        """Inside the braces of a merge field, such as: name|reader."""
        return f"{self.name}|{self.fallback}"


# An import finds names by more than one column (subscribers/importing/file_format/columns.py).
NAME = ReaderField("name", "Name", "Ada Whitlock", "reader", autocomplete="name")

READER_FIELDS = (NAME,)
FIELD_NAMES = tuple(field.name for field in READER_FIELDS)
# In SQL: “name, city”. No field is named by a user, so nothing here needs quoting.
FIELD_COLUMNS = ", ".join(FIELD_NAMES)
