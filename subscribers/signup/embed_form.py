"""The HTML with which a page on another site has a sign-up form that leads to ours."""

from __future__ import annotations

from html import escape

from django.urls import reverse


def html_of_form(site_url: str) -> str:
    """
    A form without scripts and without our style, so that it looks like the page it is put into.

    The fields are those of `subscribers.signup.signup_form.filled_in_elsewhere`.
    """
    where = escape(site_url.rstrip("/") + reverse("subscribers:embedded"))
    return f"""\
<form action="{where}" method="post">
  <label>Email address <input name="email" type="email" autocomplete="email" required></label>
  <label>Name <input name="name" autocomplete="name"></label>
  <button>Subscribe</button>
</form>"""
