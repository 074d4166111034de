"""Looking at what is not ours to know: a domain's records, where a link leads. Never the database
but in keeping.py, and never longer than somebody waits for a page."""
