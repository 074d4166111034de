"""Open a file that a program uploads, either as the body of a call or in a form."""

from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryFile
from typing import Any, BinaryIO, cast

from django.http import HttpRequest
from ninja.params.functions import Query

from api.idempotent_call import KEY_PARAMETER
from api.problem import ProblemError, ProblemType, field_problem
from api.strict_parser import shorten_name
from subscribers.files.bounded_upload import BoundedUpload
from subscribers.importing import accept_upload

FILENAME = Query(
    "a file", min_length=1, max_length=255, description="The name of a file that is the body."
)
_AT_A_TIME = 64 * 1024


def upload_parameters(kind: str, **more: Any) -> dict[str, Any]:
    """Describe the key and the file of a call, for the OpenAPI document."""
    form = {
        "type": "object",
        "properties": {"file": {"type": "string", "format": "binary"}},
        "required": ["file"],
        "additionalProperties": False,
    }
    content = {
        kind: {"schema": {"type": "string", "minLength": 1}, **more},
        "multipart/form-data": {"schema": form},
    }
    return {**KEY_PARAMETER, "requestBody": {"required": True, "content": content}}


@contextmanager
def uploaded_file(request: HttpRequest, filename: str, kind: str) -> Iterator[tuple[BinaryIO, str]]:
    """Open the uploaded file; yield the file and its name. Raises `ProblemError`."""
    match request.content_type:
        case sent_kind if sent_kind == kind:
            with TemporaryFile(prefix="homing-upload-") as file:
                came = 0
                while chunk := request.read(_AT_A_TIME):
                    came += len(chunk)
                    if came > accept_upload.largest_size():
                        raise ProblemError(ProblemType.TOO_LARGE, str(accept_upload.too_large()))
                    file.write(chunk)
                file.seek(0)
                yield file, filename
        case "multipart/form-data":
            bounded = BoundedUpload(accept_upload.largest_size())
            request.upload_handlers = [bounded]
            sent = request.FILES.getlist("file")
            parts = [
                name
                for form in (request.POST, request.FILES)
                for name, some in form.lists()
                for _ in some
            ]
            if bounded.is_over:
                raise ProblemError(ProblemType.TOO_LARGE, str(accept_upload.too_large()))
            if parts != ["file"] or not sent:
                found = ", ".join(f"“{shorten_name(name)}”" for name in parts) or "nothing"
                sentence = "Send one file called “file” in the form, and nothing else."
                raise field_problem("file", f"{sentence} The form has: {found}.")
            # The file stays open until the request ends.
            yield cast("BinaryIO", sent[0].file), sent[0].name or filename
        case _:
            sentence = f"Send a file, as {kind} or in a form (multipart/form-data)."
            raise ProblemError(ProblemType.NOT_A_MEDIA_TYPE, sentence)
