"""Sample exports of other products, in their documented formats."""

import csv
import io
import json
import zipfile
from pathlib import Path
from typing import Any

SWIFTS = (Path(__file__).parents[3] / "static" / "demo" / "swifts.png").read_bytes()
MEDIA = "https://substack-post-media.s3.amazonaws.com/public/images/swifts.png"
RESIZED = (
    "https://substackcdn.com/image/fetch/w_1456,c_limit,f_auto/"
    "https%3A%2F%2Fsubstack-post-media.s3.amazonaws.com%2Fpublic%2Fimages%2Fswifts.png"
)
SUBSTACK_HEADER = (
    "post_id,post_date,is_published,email_sent_at,inbox_sent_at,type,audience,title,subtitle,"
    "podcast_url"
)
LETTER = f"""<p>The swifts <em onclick="alert(2)">left</em>.</p>
<div class="subscription-widget-wrap"><div class="subscription-widget"><p>Thanks for reading!</p>
<form><input name="email"><button>Subscribe</button></form></div></div>
<p class="button-wrapper"><a class="button" href="%%share_url%%"><span>Share</span></a></p>
<div class="captioned-image-container"><figure><a class="image-link image3" href="{RESIZED}">
<img src="{RESIZED}" alt="Swifts" onerror="alert(1)"></a></figure></div>
<div class="poll-embed" data-attrs="{{}}">Poll</div>
<img src="https://eotrx.substackcdn.com/open?token=1" width="1" height="1" alt="">
<script>alert(1)</script><p>They return in May. {{{{ name }}}}</p>"""


def zipped(files: dict[str, str | bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    return file.getvalue()


def substack_rows(*rows: dict[str, str]) -> str:
    names = SUBSTACK_HEADER.split(",")
    usual = {
        "post_date": "2021-05-04T08:00:00.000Z",
        "is_published": "true",
        "type": "newsletter",
        "audience": "everyone",
    }
    output = io.StringIO()
    writer = csv.DictWriter(output, names)
    writer.writeheader()
    writer.writerows([usual | row for row in rows])
    return output.getvalue()


def substack(letter: str = LETTER, *more: dict[str, str], **files: str | bytes) -> bytes:
    """Return a ZIP with one public issue and the rows `more`, each with a letter."""
    first = {"post_id": "101.swifts-leave", "title": "Swifts&#x2019; farewell", "subtitle": "Sub"}
    rows = [first, *more]
    letters = {f"posts/{row['post_id']}.html": "<p>Secret.</p>" for row in more}
    return zipped(
        {
            "export/posts.csv": substack_rows(*rows),
            "export/posts/101.swifts-leave.html": letter,
            **{f"export/{path}": text for path, text in letters.items()},
            "__MACOSX/export/posts.csv": "",
            **files,
        }
    )


def ghost(*posts: dict[str, Any], metas: tuple[dict[str, Any], ...] = ()) -> bytes:
    usual = {
        "type": "post",
        "status": "published",
        "visibility": "public",
        "published_at": "2020-01-02T03:04:05.000Z",
    }
    data = {"posts": [usual | post for post in posts], "posts_meta": metas, "users": [{}]}
    return json.dumps({"db": [{"meta": {}, "data": data}]}).encode()


def buttondown(*emails: tuple[str, str, str]) -> bytes:
    """Return a ZIP with emails of these slugs, types and letters."""
    header = "id,secondary_id,subject,publish_date,source,email_type,slug\n"
    rows = "".join(
        f"em_{slug},1,About {slug},2022-03-04 05:06:07.891+00:00,app,{kind},{slug}\n"
        for slug, kind, _ in emails
    )
    letters = {f"emails/{slug}.md": letter for slug, _, letter in emails}
    return zipped({"emails.csv": header + rows, **letters})
