"""HTTP answers as bytes, and scripts that send such answers."""

from tests.delivery.postmark_responses import accepted, body
from tests.delivery.scripted_http_server import Conversation, Script


def http(status: str, content: bytes = b"", *headers: str) -> bytes:
    """Return a whole answer with its length; a header is a text like `Retry-After: 7`."""
    lines = [f"HTTP/1.1 {status}", "Content-Type: application/json", *headers]
    head = "\r\n".join([*lines, f"Content-Length: {len(content)}"])
    return head.encode() + b"\r\n\r\n" + content


GOOD = http("200 OK", body([accepted()]))


def answering(*answers: bytes) -> Script:
    """Make a script that reads a request before each answer, and closes at the end."""

    def script(conversation: Conversation) -> None:
        for answer in answers:
            conversation.read_request()
            conversation.write(answer)

    return script


class Pages:
    """A script that answers each request with the next page, and collects the paths."""

    def __init__(self, *pages: bytes) -> None:
        self.pages = list(pages)
        self.paths: list[str] = []

    def __call__(self, conversation: Conversation) -> None:
        while request := conversation.read_request():
            self.paths.append(request.split(b" ")[1].decode())
            conversation.write(self.pages.pop(0))
