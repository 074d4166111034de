"""
The calls about readers and imports; what every call stands on is in `api/`.

Calls only translate: JSON becomes what the desk's functions take, and what they say becomes JSON.
There is no SQL here, and no decision about a reader. `newsletter_site/api/api.py` joins the
routers.
"""
