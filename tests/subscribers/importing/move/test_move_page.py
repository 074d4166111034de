"""The page about moving in: its statements about statuses are true."""

import io

import pytest

from subscribers.importing.file_format.read_file import ReaderFile, Row
from subscribers.importing.file_format.split_records import BadRow
from subscribers.importing.move.product_notes import BECOMES, PRODUCTS, REJECTED
from tests.publishing.author_browser import WindowOf
from tests.subscribers.importing.import_browser import someone

# For each product, a header by which it is recognised; `{}` is the column of the status.
HEADERS = {
    "mailchimp": "Email Address,LEID,EUID",
    "substack": "email,active_subscription,{}",
    "ghost": "email,{}",
    "buttondown": "email,{}",
    "beehiiv": "email,{},tier,unsubscribed_at",
    "kit": "email_address,{}",
    "listmonk": "email,uuid,attributes,{}",
    "homing": "email,reader,left_topics,{}",
    "list": "email,{}",
}
STATED = [
    (product.code, column, value.strip(), status)
    for product in PRODUCTS
    for column, values, status in product.statuses
    for value in values.split(",")
]


@pytest.mark.parametrize(("code", "column", "value", "status"), STATED)
def test_each_status_becomes_what_the_page_says(
    code: str, column: str, value: str, status: str
) -> None:
    header = HEADERS[code].format(column)
    cells = [value if name == column else "" for name in header.split(",")]
    name = value.replace("…", "members_export_1.csv") if column == "file" else "list.csv"
    content = f"{header}\n{','.join(['ada@x.org', *cells[1:]])}\n".encode()
    with ReaderFile(io.BytesIO(content), name) as file:
        [row] = file.rows()
    if status == REJECTED:
        assert isinstance(row, BadRow)
    else:
        assert isinstance(row, Row)
        assert row.status is not None
        assert row.status.status == status


@pytest.mark.django_db
def test_the_page_shows_each_product_and_opens_the_chosen_one() -> None:
    page = WindowOf(someone("edith", "manage_readers")).get("/admin/newsletters/move/?from=ghost")
    assert all(product.name in page.words for product in PRODUCTS[:-1])
    assert page.source.count(" open>") == 1
    assert '<details id="ghost" name="product" open>' in page.source
    assert f"subscribed_to_emails: false {BECOMES['unsubscribed']}" in page.words
    assert page.form_with("file").action == "/admin/newsletters/imports/"
