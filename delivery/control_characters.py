"""Control characters and line separators, which names, titles and headers exclude."""

import re

# Explicit ranges, because PostgreSQL's [[:cntrl:]] depends on the collation.
CONTROL_CHARACTERS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
# The same for a constraint, without NUL, which PostgreSQL cannot store.
POSTGRESQL_PATTERN = r"[\u0001-\u001F\u007F-\u009F\u2028\u2029]"
