"""The list of an issue's attributes agrees with the code that depends on it."""

from dataclasses import fields

from delivery.issue_attributes import CONTENT_ATTRIBUTES, ISSUE_ATTRIBUTES
from delivery.models import Edition
from publishing.content.draft_content import DraftFields
from publishing.content.edition_content import Content
from publishing.models import Draft

VALUE = "One"


def test_drafts_and_contents_hold_the_attributes_of_the_list():
    assert {one.name for one in fields(DraftFields)} == {one.name for one in ISSUE_ATTRIBUTES}
    assert {one.name for one in fields(Content)} - {"has_page"} == {
        one.content for one in CONTENT_ATTRIBUTES
    }


def test_drafts_and_editions_have_a_column_for_each_attribute():
    stored = {one.name for one in Draft._meta.get_fields()}
    frozen = {one.name for one in Edition._meta.get_fields()}
    assert stored >= {one.name for one in ISSUE_ATTRIBUTES}
    assert frozen >= {one.column for one in CONTENT_ATTRIBUTES}


def test_each_attribute_has_its_own_place_in_the_hash():
    empty = {one.content: "" for one in CONTENT_ATTRIBUTES}
    contents = [Content(**{**empty, name: VALUE}) for name in empty]
    assert len({one.sha256 for one in contents}) == len(contents)
