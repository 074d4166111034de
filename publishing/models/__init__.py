"""The tables of the desk, one idea a file."""

from publishing.models.draft import Draft
from publishing.models.issue import Issue
from publishing.models.kept_form import KeptForm
from publishing.models.outside_look import OutsideLook
from publishing.models.picture import Picture, PictureTries
from publishing.models.receipt import Receipt

__all__ = ["Draft", "Issue", "KeptForm", "OutsideLook", "Picture", "PictureTries", "Receipt"]
