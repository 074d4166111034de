"""Looking at what is not ours to know: a domain's records, where a link leads. Never the database
but in cached_results.py, and never longer than somebody waits for a page."""
