"""Warn of readers who may get two versions, or none. Pure."""

from collections.abc import Iterator

from publishing.preflight.check_context import CheckContext
from publishing.preflight.finding import Finding, FindingText, FixIn, Texts, advice

TEXTS: Texts = {
    "version_overlap": FindingText("{sentence}"),
}


def check(context: CheckContext) -> Iterator[Finding]:
    """Pass on the warnings about the version before."""
    for sentence in context.overlap_warnings:
        yield advice("version_overlap", FixIn.PROGRESS, sentence=sentence)
