"""Build files within the size limits that could still take much memory. Pure."""

import io
import json
import zipfile
import zlib
from collections.abc import Callable, Mapping
from typing import Any

MB = 1024 * 1024
HEADER = "post_id,post_date,is_published,type,audience,title,subtitle\n"
ROW = "1.a,2021-05-04T08:00:00Z,true,newsletter,everyone,Title,Sub\n"
EMOJI = "\U0001f54a"


def zipped(files: Mapping[str, str | bytes]) -> bytes:
    """Pack the files into a zip archive."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    return file.getvalue()


def substack(letter: str | bytes, rows: str = ROW) -> bytes:
    """Pack one letter and a list of issues, as an export of Substack."""
    return zipped({"posts.csv": HEADER + rows, "posts/1.a.html": letter})


def buttondown(letter: str) -> bytes:
    """Pack one letter, as an export of Buttondown."""
    row = {"id": "1", "slug": "a", "publish_date": "2021-05-04", "email_type": "public"}
    return zipped({"emails.json": json.dumps([row]), "emails/a.md": letter})


def ghost(html: str = "<p>x</p>", posts: str = "", **more: str) -> bytes:
    """Build an export of Ghost with one post; `more` is JSON before the list of posts."""
    post = {
        "id": "1",
        "slug": "a",
        "title": "T",
        "type": "post",
        "status": "published",
        "visibility": "public",
        "published_at": "2020-01-02T03:04:05Z",
        "html": html,
    }
    beside = "".join(f'"{name}":{value},' for name, value in more.items())
    listed = json.dumps(post, ensure_ascii=False) + posts
    return f'{{"db":[{{"data":{{{beside}"posts":[{listed}]}}}}]}}'.encode()


def homing(letter: str, issue: str = "{}") -> bytes:
    """Pack a complete export of Homing with one issue."""
    row = {
        "issue": "0b0a5e3a-8d8c-4d0e-9d1a-0d6f3f2b1c11",
        "version": 1,
        "public": True,
        "slug": "a",
        "title": "T",
        "published_at": "2020-01-02T03:04:05Z",
    }
    files = {"homing.json": json.dumps({"format": 1}), "issues/a/version-1/letter.html": letter}
    return zipped({**files, "issues/a/version-1/issue.json": json.dumps(row), "x.json": issue})


def _of(piece: str, size: int = 4 * MB) -> str:
    """Repeat a piece up to a size in bytes."""
    return piece * (size // len(piece.encode()))


def _unlike(piece: str, number: int) -> str:
    """Repeat a piece, each time with the next number in it."""
    return "".join(piece.format(n) for n in range(number))


_LETTERS: dict[str, Callable[[], str]] = {
    "deep nesting": lambda: _of("<div>"),
    "deep formatting": lambda: _of("<b><i>"),
    "many attributes": lambda: "<p " + _unlike("a{}=1 ", 400_000) + ">",
    "many small tags": lambda: _of("<p>"),
    "many rows": lambda: "<table>" + _of("<tr><td>"),
    "many images": lambda: _unlike('<img src="https://substackcdn.com/{}.png">', 90_000),
    "less-than signs": lambda: _of("<", 4 * MB),
    "entities": lambda: _of("&amp;"),
    "short entities": lambda: _of("&lt;x"),
    "comments": lambda: _of("<!---->"),
    "braces": lambda: _of("{{"),
    "short template tags": lambda: _of(EMOJI + "{{}}"),
    "one wide character": lambda: EMOJI + _of("x"),
    "wide words": lambda: _of(EMOJI + " "),
    "new lines": lambda: _of("\n"),
    "an attribute of JSON": lambda: "<div data-attrs='" + _of("[]," * 9) + "'>",
    "a gallery": lambda: (
        '<div class="image-gallery-embed" data-attrs=\'{"gallery":{"images":['
        + ",".join(f'{{"src":"https://substackcdn.com/{n}"}}' for n in range(100_000))
        + "]}}'>"
    ),
    "links": lambda: _unlike('<a href="https://example.org/{}">x</a>', 90_000),
    "nulls": lambda: _of("\0"),
    "many characters": lambda: _of("&<p>" + EMOJI, 7 * MB // 2),
    "as long as allowed, less-than": lambda: _of("<", 1_490_000),
    "as long as allowed, wide": lambda: EMOJI + _of("<", 1_490_000),
    "as long as allowed, entities": lambda: EMOJI + _of("&quot;", 1_490_000),
    "as long as allowed, new lines": lambda: EMOJI + _of("\n", 1_490_000),
    "as long as allowed, breaks": lambda: EMOJI + _of("<br>", 1_490_000),
    "as long as allowed, words": lambda: EMOJI + _of("<b>x</b> ", 1_490_000),
    "as long as allowed, links": lambda: EMOJI + _unlike('<a href="//a/{}">x</a>', 70_000),
    "as long as allowed, images": lambda: _unlike('<img src="https://a/{}">', 70_000),
    "as long as allowed, braces": lambda: EMOJI + _of("{{", 1_490_000),
    "as long as allowed, fields": lambda: EMOJI + _of("{{name|x}}", 1_490_000),
}

_PACKED: dict[str, Callable[[str], bytes]] = {
    "Substack": substack,
    "Ghost": ghost,
    "Buttondown": lambda letter: buttondown("<!-- buttondown-editor-mode: fancy -->" + letter),
    "Homing": lambda letter: homing(letter[:990_000]),
}
PAST_ISSUES: dict[str, Callable[[], bytes]] = {
    **{
        f"{product} letter: {name}": lambda pack=pack, of=of: pack(of())
        for product, pack in _PACKED.items()
        for name, of in _LETTERS.items()
    },
    "Buttondown Markdown": lambda: buttondown(_of("*a_[", 249_000)),
    "rows of commas": lambda: substack("x", _of(",\n", 2 * MB)),
    "blank rows": lambda: substack("x", _of("\n", 60 * MB)),
    "a row of commas": lambda: substack("x", _of(",", 60 * MB)),
    "a cell": lambda: substack("x", '"' + _of("x", 60 * MB)),
    "a cell of lines": lambda: substack("x", '"' + _of("\n", 60 * MB)),
    "a row of cells with lines": lambda: substack("x", _of('"\n",', 60 * MB)),
    "a header of columns": lambda: zipped({"posts.csv": _of("a,", 60 * MB)}),
    "long titles": lambda: substack(
        "x", _unlike("{}.a,2021-05-04,true,newsletter,everyone," + EMOJI * 500 + "\n", 19_999)
    ),
    "a Ghost address": lambda: ghost(_of("__GHOST_URL__")),
    "a Ghost address, shorter": lambda: ghost(_of("__GHOST_URL__", 116_000)),
    "Ghost: small objects among the posts": lambda: ghost(posts=_of(",{}", 60 * MB)),
    "Ghost: posts": lambda: ghost(posts=_of(',{"id":"' + EMOJI + '"}', 60 * MB)),
    "Ghost: small objects beside the posts": lambda: ghost(x="[" + _of("{},", 60 * MB) + "1]"),
    "Ghost: deep nesting": lambda: ghost(x=_of("[", 30 * MB) + _of("]", 30 * MB)),
    "Ghost: open brackets": lambda: ghost(x=_of("[", 60 * MB)),
    "Ghost: one text": lambda: ghost(x='"' + _of("x", 60 * MB) + '"'),
    "Ghost: one text of escapes": lambda: ghost(x='"' + _of("\\n", 60 * MB) + '"'),
    "Ghost: an open text of escapes": lambda: ghost(x='"' + _of('\\"', 60 * MB)),
    "Ghost: many members": lambda: ghost(x="{" + _of('"a":1,', 60 * MB) + '"b":1}'),
    "Ghost: many members of a post": lambda: ghost(posts=",{" + _of('"a":1,', 30 * MB) + '"b":1}'),
    "Ghost: metas": lambda: ghost(
        posts_meta="["
        + ",".join(
            f'{{"post_id":"{n}","feature_image_alt":"{EMOJI * 490}"}}' for n in range(19_999)
        )
        + "]"
    ),
    "Ghost: long titles": lambda: ghost(
        posts="".join(f',{{"id":"{n}","title":"{EMOJI * 500}"}}' for n in range(19_999))
    ),
    "Ghost in a ZIP": lambda: zipped({"a.json": ghost(x="[" + _of("{},", 60 * MB) + "1]")}),
    "Ghost: numbers": lambda: ghost(x=_of("1", 60 * MB)),
    "Ghost: a long date": lambda: ghost(posts=',{"published_at":' + _of("1", 9 * MB) + "}"),
    "many entries": lambda: zipped({f"{n}{'x' * 100}.txt": "" for n in range(49_000)}),
    "many wide entries": lambda: zipped(
        {**{f"{n}{EMOJI * 25}.txt": "" for n in range(49_000)}, "posts.csv": HEADER + ROW}
    ),
    "entries with long names": lambda: zipped({f"{n}{'x' * 60_000}.txt": "" for n in range(250)}),
    "letters of nothing": lambda: zipped(
        {
            "posts.csv": HEADER + _unlike(ROW.replace("1.a", "{}.a"), 300),
            **{f"posts/{n}.a.html": bytes(4 * MB) for n in range(300)},
        }
    ),
    "letters of addresses": lambda: zipped(
        {
            "posts.csv": HEADER + _unlike(ROW.replace("1.a", "{}.a"), 40),
            **{
                f"posts/{n}.a.html": _unlike(f'<img src="https://{n}/' + "a" * 900 + '{}">', 2_000)
                for n in range(40)
            },
        }
    ),
    "Homing: issues": lambda: zipped(
        {
            "homing.json": '{"format": 1}',
            **{
                f"issues/{n}/version-1/issue.json": json.dumps(
                    {"issue": f"{n:08x}-8d8c-4d0e-9d1a-0d6f3f2b1c11", "title": EMOJI * 500}
                )
                for n in range(30_000)
            },
        }
    ),
    "Homing: JSON": lambda: zipped(
        {
            "homing.json": '{"format": 1}',
            **{f"issues/{n}/version-1/issue.json": _of("[[],", 250_000) for n in range(100)},
        }
    ),
}


def _list(header: str, row: str, number: int) -> bytes:
    """Build a list of readers by repeating a row with the next number in it."""
    return f"{header}\n{_unlike(row, number)}".encode()


READERS: dict[str, Callable[[], bytes]] = {
    "rows of commas": lambda: _of(",\n", 30 * MB).encode(),
    "blank rows": lambda: _of("\n", 30 * MB).encode(),
    "a row of commas": lambda: b"email\n" + _of(",", 60 * MB).encode(),
    "rows as long as allowed": lambda: _list(
        "email,name,x", "ada{}@example.org,Ada," + "x" * 65_000 + "\n", 3_000
    ),
    "wide rows as long as allowed": lambda: _list(
        "email,name,x", "ada{}@example.org,Ada," + EMOJI * 65_000 + "\n", 750
    ),
    "wide names": lambda: _list("email,name", "ada{}@example.org," + EMOJI * 65_000 + "\n", 750),
    "names as long as allowed": lambda: _list(
        "email,name", "ada{}@example.org," + "x" * 65_000 + "\n", 3_000
    ),
    "names with one wide character": lambda: _list(
        "email,name", "ada{}@example.org," + EMOJI + "x" * 65_000 + "\n", 3_000
    ),
    "addresses as long as allowed": lambda: _list(
        "email", "{}" + "x" * 65_000 + "@example.org\n", 3_000
    ),
    "rows with many columns": lambda: (
        "email" + _of(",\n", 1) + _of(",a" * 30_000 + "\n")
    ).encode(),
    "a header of columns": lambda: ("email" + ",a" * 30_000 + "\n" + "a@b.org\n" * 9).encode(),
    "many columns and rows": lambda: (
        "email" + ",ab" * 20_000 + "\n" + ("a@b.org" + ",ab" * 20_000 + "\n") * 1_000
    ).encode(),
    "quoted lines": lambda: ("email\n" + _of('"\n",', 30 * MB)).encode(),
    "quoted rows as long as allowed": lambda: (
        "email,name\n" + ('a@b.org,"' + ("x" * 3_000 + "\n") * 39 + '"\n') * 1_600
    ).encode(),
    "open quotes": lambda: ("email\n" + _of('"', 30 * MB)).encode(),
    "open quotes in rows": lambda: ("email\n" + _of('"a\n', 30 * MB)).encode(),
    "many tags": lambda: _list("email,tags", 'a{}@b.org,"' + "t," * 30_000 + '"\n', 3_000),
    "many different tags": lambda: (
        "email,tags\n"
        + "".join(
            f'a{n}@b.org,"' + ",".join(f"{n}t{m}" for m in range(6_000)) + '"\n' for n in range(300)
        )
    ).encode(),
    "nulls": lambda: b"email\n" + bytes(30 * MB),
    "UTF-16": lambda: ("email\n" + _of("a@b.org,x\n", 30 * MB)).encode("utf-16"),
    "a ZIP of lists": lambda: zipped(
        {f"subscribed_{n}.csv": "Email Address\n" + _of("a@b.org\n", 30 * MB) for n in range(3)}
    ),
    "a ZIP of a large list": lambda: zipped({"a.csv": "email\n" + _of("a@b.org\n", 190 * MB)}),
    "a ZIP of many entries": lambda: zipped(
        {**{f"{n}{EMOJI * 25}.txt": "" for n in range(49_000)}, "a.csv": "email\na@b.org\n"}
    ),
    "JSON": lambda: b"[" + b"[]," * 9 * MB,
}


def _picture(kind: str, size: tuple[int, int], mode: str = "RGB", **how: Any) -> bytes:
    from PIL import Image

    file = io.BytesIO()
    noise = Image.effect_noise((200, 200), 30).resize(size).convert(mode)
    noise.save(file, kind, **how)
    return file.getvalue()


def _chunk(name: bytes, content: bytes) -> bytes:
    check = zlib.crc32(name + content).to_bytes(4)
    return len(content).to_bytes(4) + name + content + check


def _png_with(chunks: bytes) -> bytes:
    png = _picture("PNG", (300, 300))
    return png[:33] + chunks + png[33:]


def _gif_with(blocks: bytes, frames: int = 1) -> bytes:
    gif = _picture("GIF", (30, 30))
    head, image = gif[: 13 + 768], gif[13 + 768 : -1]
    return head + blocks + image * frames + b";"


def _jpeg_with(segments: bytes) -> bytes:
    jpeg = _picture("JPEG", (300, 300))
    return jpeg[:2] + segments + jpeg[2:]


def _webp_with(chunks: bytes) -> bytes:
    webp = _picture("WEBP", (300, 300), exif=b"Exif\0\0") + chunks
    return webp[:4] + (len(webp) - 8).to_bytes(4, "little") + webp[8:]


IMAGES: dict[str, Callable[[], bytes]] = {
    "PNG of private chunks": lambda: _png_with(_chunk(b"prIv", b"") * 850_000),
    "PNG of texts": lambda: _png_with(
        b"".join(_chunk(b"tEXt", b"%d\0x" % n) for n in range(500_000))
    ),
    "PNG of international texts": lambda: _png_with(
        b"".join(_chunk(b"iTXt", b"%x\0\0\0\0\0x" % n) for n in range(400_000))
    ),
    "PNG of a packed text": lambda: _png_with(
        _chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(900 * MB // 9))) * 60
    ),
    "PNG of packed texts": lambda: _png_with(
        b"".join(
            _chunk(b"zTXt", b"%d\0\0" % n + zlib.compress(bytes(MB - 9))) for n in range(2_000)
        )
    ),
    "PNG of a packed profile": lambda: _png_with(
        _chunk(b"iCCP", b"a\0\0" + zlib.compress(bytes(300 * MB)))
    ),
    "PNG of a large EXIF": lambda: _png_with(_chunk(b"eXIf", b"II*\0" + bytes(9 * MB))),
    "PNG, 15 megapixels": lambda: _picture("PNG", (5_120, 2_880), "RGBA"),
    "PNG of packed lines": lambda: _picture("PNG", (1_800, 8_000), "RGBA"),
    "PNG of 16 bits": lambda: _picture("PNG", (3_800, 3_800), "I;16"),
    "PNG in grey": lambda: _picture("PNG", (3_870, 3_870), "L"),
    "animated PNG": lambda: _picture("PNG", (1_000, 1_000), save_all=True),
    "JPEG of comments": lambda: _jpeg_with(b"\xff\xfe\0\2" * (9 * MB // 4)),
    "JPEG of data": lambda: _jpeg_with((b"\xff\xe4\xff\xff" + bytes(65_533)) * 150),
    "JPEG of empty data": lambda: _jpeg_with(b"\xff\xe4\0\2" * (9 * MB // 4)),
    "JPEG of EXIF": lambda: _jpeg_with(
        (b"\xff\xe1\xff\xff" + b"Exif\0\0II*\0" + b"\x08\0\0\0" + b"\xff" * 65_519) * 150
    ),
    "JPEG of profiles": lambda: _jpeg_with(
        (b"\xff\xe2\xff\xff" + b"ICC_PROFILE\0\1\1" + bytes(65_519)) * 150
    ),
    "JPEG of fill bytes": lambda: _jpeg_with(b"\xff" * 9 * MB),
    "JPEG, 48 megapixels": lambda: _picture("JPEG", (8_000, 6_000), quality=30),
    "progressive JPEG, CMYK": lambda: _picture(
        "JPEG", (5_120, 2_880), "CMYK", quality=60, progressive=True
    ),
    "GIF of comments": lambda: _gif_with(b"!\xfe\1a\0" * (9 * MB // 5)),
    "GIF of one comment": lambda: _gif_with(b"!\xfe" + b"\1a" * (9 * MB // 2) + b"\0"),
    "GIF of frames": lambda: _gif_with(b"", 4_000),
    "GIF of controls": lambda: _gif_with(b"!\xf9\4\0\0\0\0\0" * (9 * MB // 8)),
    "GIF, 15 megapixels": lambda: _picture("GIF", (5_120, 2_880), "P"),
    "WebP, 8 megapixels": lambda: _picture("WEBP", (4_000, 1_990), "RGBA", quality=40),
    "WebP of a large EXIF": lambda: _picture("WEBP", (300, 300), exif=b"Exif\0\0" + bytes(9 * MB)),
    "WebP of unknown parts": lambda: _webp_with(b"prIv\0\0\0\0" * (9 * MB // 8)),
    "WebP without loss": lambda: _picture("WEBP", (4_000, 1_990), "RGBA", lossless=True),
}
SMALL: Mapping[str, tuple[bytes, ...]] = {
    "past_issues": (substack("<p>x <b>y</b></p>"), ghost()),
    "readers": (b"email,name\na@example.org,A\n",),
    "images": tuple(_picture(kind, (20, 20)) for kind in ("PNG", "JPEG", "GIF", "WEBP")),
}
ALL = {"past_issues": PAST_ISSUES, "readers": READERS, "images": IMAGES}
