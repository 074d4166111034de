"""Control characters and line separators: no name, title or header may contain them."""

import re

# PostgreSQL's [[:cntrl:]] depends on the collation, so the ranges are spelled out.
CONTROL_CHARACTERS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
# The same for a constraint; PostgreSQL cannot store a NUL.
POSTGRESQL_PATTERN = r"[\u0001-\u001F\u007F-\u009F\u2028\u2029]"
