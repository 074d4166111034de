"""
What all API calls share: the token, reading body and query, idempotency, and problems.

The calls themselves are in `publishing/api/` and `subscribers/api/`, and joined in
`newsletter_site/api/api.py`.
"""
