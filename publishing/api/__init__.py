"""
The calls about issues: publishing, how an issue stands, what is done to it, and its copies. What
every call stands on is in `api/`.

Calls only translate: JSON becomes what the forms' functions take, and what they say becomes JSON.
There is no SQL here, and no decision about an edition. `newsletter_site/api/api.py` joins the
routers.
"""
