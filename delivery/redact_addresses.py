"""Redact email addresses in texts of other programs, in every spelling."""

import re

# No local part or domain is longer than these limits. The limits keep the time linear in the text's
# length.
MAX_LOCAL_PART = 320
MAX_DOMAIN = 1024

# This mark replaces an address. Only the reader's delivery may contain the address, so that an
# erasure finds it.
REDACTED = "…"
# At most this many characters of a text are read, far more than are stored. The rest of a longer
# text is not read, to save time.
MAX_READ = 8_000

# The @ itself, percent-encoded once or more, escaped for HTML or JSON, or in a wide form.
_SIGN = (
    r"[@\uff20\ufe6b]|%(?:25){0,3}(?:u00)?40|%(?:25){0,3}[eE][fF]%(?:25){0,3}[bB][cC]"
    r"%(?:25){0,3}[aA]0|&(?:amp;){0,3}(?:#0{0,20}64(?!\d);?|#[xX]0{0,20}40(?:;|(?![0-9a-fA-F]{1,4};))"
    r"|commat;?)|\\{1,16}(?:u0040|x40|100)"
)
# These signs also have other meanings. So a sign counts as an @ only if a domain follows, with or
# without spaces.
_SIGN_BEFORE_DOMAIN = r"\s{1,3}@|@(?=\s)|\s?[(\[{<]at[)\]}>]|=40|\+AEA-"
_AT = re.compile(
    rf"(?:{_SIGN_BEFORE_DOMAIN})\s{{0,3}}(?=[^\W_][\w-]{{0,62}}\.[^\W\d])|{_SIGN}", re.IGNORECASE
)
# The text before the @ is matched backwards, so this pattern is written backwards: a quoted local
# part, or letters, escapes and comments.
_LOCAL_PART_BACKWARDS = re.compile(
    r"""
    "(?:"\\|[^"])*"
    |;touq&[^&]*;touq&
    |(?: ;\w{1,8}\#?(?:;pma){0,3}&
       | [0-9a-fA-F]{4}u\\{1,16}
       | \)[^()]{0,60}\(
       | [^\s@<>"(),;:\[\]\\“”„«»?…]
     )*
    """,
    re.VERBOSE,
)
_DOMAIN = re.compile(
    r"\[[^\]\s]*\]|(?:%(?!3[eE]|2[0cC27])|[^\s@\uff20\ufe6b<>\"'(),;:\[\]{}|/?&\\%“”„«»…])*"
)

# A parameter's name or a quotation mark before an address is not part of the address.
_BEFORE_IT = re.compile(r"['`]*(?:(?:e-?mail|address|recipient|to|from|user)=)?", re.IGNORECASE)


def redact_addresses(text: str, mark: str) -> str:
    """Replace every address in a text by `mark`. Punctuation after an address is kept."""
    parts: list[str] = []
    end = 0
    for at in _AT.finditer(text):
        if at.start() < end:
            continue  # This @ belongs to the domain before it.
        before = text[max(end, at.start() - MAX_LOCAL_PART) : at.start()]
        backwards = _LOCAL_PART_BACKWARDS.match(before[::-1])
        local_part = _BEFORE_IT.sub("", backwards[0][::-1] if backwards else "", count=1)
        domain = _DOMAIN.match(text, at.end(), at.end() + MAX_DOMAIN)
        named = domain[0].rstrip(".!") if domain else ""
        start = at.start() - len(local_part)
        if parts and start == end:
            end = at.end() + len(named)  # Another @ of the same address.
        elif local_part:
            parts += [text[end:start], mark]
            end = at.end() + len(named)
    return "".join([*parts, text[end:]])


def read_text(value: object, longest: int, *, cut_mark: str = "…") -> str:
    """Redact addresses in a text; cut the text to one line of `longest` characters.

    The result is empty for values that are not texts, because writing out deeply nested lists would
    exhaust the stack.
    """
    if not isinstance(value, str):
        return ""
    redacted = redact_addresses(value[:MAX_READ], REDACTED)
    if len(value) > MAX_READ:
        # The text was cut, so its end may be the beginning of an address.
        redacted = redacted[:-MAX_LOCAL_PART]
    shown = " ".join("".join(one if one.isprintable() else " " for one in redacted).split())
    if len(shown) <= longest:
        return shown
    return f"{shown[: longest - len(cut_mark)]}{cut_mark}"
