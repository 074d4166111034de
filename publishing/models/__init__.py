"""The tables of the desk, one idea a file."""

from publishing.models.draft import Draft
from publishing.models.external_check import ExternalCheck
from publishing.models.image import UploadAttempts, UploadedImage
from publishing.models.issue import Issue
from publishing.models.receipt import Receipt

__all__ = ["Draft", "ExternalCheck", "Issue", "Receipt", "UploadAttempts", "UploadedImage"]
