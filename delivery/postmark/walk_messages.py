"""Read all messages that Postmark shows under one tag, by page."""

from collections.abc import Iterator, Sequence

from delivery.postmark.classify_responses import MESSAGES
from delivery.postmark.client import MAX_SEARCH_RESULTS, PAGE_SIZE, Postmark
from delivery.postmark.search_windows import Span, Window, split_window
from delivery.provider.provider_protocol import Ask
from delivery.rules.call_results import FoundMessage, MessagePage


def iter_pages(
    postmark: Postmark, tag: str, stream: str, span: Span, ask: Ask[MessagePage]
) -> Iterator[tuple[Sequence[FoundMessage], int]]:
    """Yield every page of messages with the tag, and the total of the first search.

    If there are too many messages, the search is split into windows of time, the earliest first. A
    message can occur twice.
    """

    def read(window: Window, offset: int) -> MessagePage:
        filters = {"tag": tag, **window.query()}
        return ask(
            lambda deadline_at_s: postmark.page(
                MESSAGES, filters, stream=stream, offset=offset, deadline_at_s=deadline_at_s
            )
        )

    whole = read(Window(), 0)
    to_do: list[tuple[Window, MessagePage | None]] = [(Window(), whole)]
    while to_do:
        window, first = to_do.pop()
        page = first or read(window, 0)
        parts = split_window(window, span) if page.total > MAX_SEARCH_RESULTS else None
        if parts is not None:
            earlier, later = parts
            to_do += [(later, None), (earlier, None)]
            continue
        offset = 0
        while True:
            yield page.messages, whole.total
            offset += PAGE_SIZE
            if len(page.messages) < PAGE_SIZE or offset >= MAX_SEARCH_RESULTS:
                break
            page = read(window, offset)
