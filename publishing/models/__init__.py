"""The tables of the desk, one idea a file."""

from publishing.models.draft import Draft
from publishing.models.external_check import ExternalCheck
from publishing.models.image import UploadAttempts, UploadedImage
from publishing.models.issue import Issue
from publishing.models.receipt import Receipt
from publishing.models.unsent_form import KeptForm

__all__ = [
    "Draft",
    "ExternalCheck",
    "Issue",
    "KeptForm",
    "Receipt",
    "UploadAttempts",
    "UploadedImage",
]
