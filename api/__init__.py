"""
What every call of a program stands on: whose token it is, its body and its query, what is done once
under its key, and how a problem is told.

No app, and nothing about newsletters: the calls themselves are in `publishing/api/` and
`subscribers/api/`, and joined in `newsletter_site/api/api.py`.
"""
