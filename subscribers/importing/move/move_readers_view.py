"""The page about moving readers in from another service."""

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from subscribers.desk_frame import desk_page, may_manage_readers
from subscribers.importing import stored_file
from subscribers.importing.move.product_notes import BECOMES, FILE, PRODUCTS, Product


@may_manage_readers
@require_safe
def move_page(request: HttpRequest) -> HttpResponse:
    """Show how to move from each product; `?from=` opens one of them."""
    context = {
        "products": [(product, _rows(product)) for product in PRODUCTS],
        "chosen": request.GET.get("from", ""),
        "most_mb": stored_file.largest_size() // stored_file.MEGABYTE,
    }
    return desk_page(request, "subscribers/move.html", context)


def _rows(product: Product) -> list[tuple[str, str]]:
    """Say what becomes of each status: “email_disabled: true”, “unsubscribed”."""
    by_file = _("File name: {names}")
    return [
        (
            by_file.format(names=values) if column == FILE else f"{column}: {values}",
            str(BECOMES[status]),
        )
        for column, values, status in product.statuses
    ]
