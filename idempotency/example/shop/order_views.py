"""A form and an API call that place an order only once, even if they are repeated."""

import json

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import LoginView
from django.forms import ModelForm, modelform_factory
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import path

from idempotency.claim import InProgressError
from idempotency.fingerprint import content_hash, keyed_fingerprints
from idempotency.key import HEADER, InvalidKey, fresh_key, read_key
from idempotency.run_once import RETRY_AFTER_S, run_once
from idempotency.safe_to_retry import DifferentContentError, safe_to_retry
from shop.models import Mail, Order

OrderForm = modelform_factory(Order, fields=("item", "quantity"))


def place_order(user, key: str, item: str, quantity: int) -> Order:
    """Store an order and its mail in the open transaction: both or neither."""
    content = {"item": item, "quantity": quantity}
    order, is_new = Order.objects.get_or_create(user=user, key=key, defaults=content)
    if is_new:
        Mail.objects.create(order=order)
    elif content != {"item": order.item, "quantity": order.quantity}:
        raise DifferentContentError
    return order


def page(request: HttpRequest, form: ModelForm, key: str, notice: str = "") -> HttpResponse:
    return render(request, "order.html", {"form": form, "key": key, "notice": notice})


@safe_to_retry(
    form=OrderForm,
    fields=("item", "quantity"),
    show_form=page,
    different_content=lambda request, form, _: page(
        request, form, fresh_key(), "The earlier form was sent. Do you want this one as well?"
    ),
    in_progress=lambda request, form, key: page(request, form, key, "This takes a moment."),
    invalid_key=lambda _, reason: HttpResponse(reason),
)
def order_by_form(request: HttpRequest, form: ModelForm, key: str) -> HttpResponse:
    place_order(request.user, key, **form.cleaned_data)
    messages.success(request, "Thank you for your order.")
    return redirect("/")


@login_required
def order_page(request: HttpRequest) -> HttpResponse:
    if request.method == "POST":
        return order_by_form(request)
    return page(request, OrderForm(), fresh_key())


def order_by_call(request: HttpRequest) -> HttpResponse:
    """Order with JSON: POST {"item": …, "quantity": …} with an Idempotency-Key."""
    if request.method != "POST" or not request.user.is_authenticated:
        return JsonResponse({"error": "POST with a session is needed."}, status=403)
    key = read_key([], request.headers.get(HEADER))
    if isinstance(key, InvalidKey):
        return JsonResponse({"error": key.reason}, status=400)
    form = OrderForm(json.loads(request.body))

    def check() -> HttpResponse | None:
        return None if form.is_valid() else JsonResponse(form.errors, status=400)

    def work() -> HttpResponse:
        order = place_order(request.user, key, **form.cleaned_data)
        return JsonResponse({"order": order.pk}, status=201)

    content = {name: [str(form.data.get(name, ""))] for name in form.fields}
    prints = keyed_fingerprints(content_hash("POST", request.path, content))
    try:
        return run_once(request, request.user.pk, key, prints, check=check, work=work)
    except DifferentContentError:
        return JsonResponse({"error": "The key was used for another order."}, status=422)
    except InProgressError:
        headers = {"Retry-After": str(RETRY_AFTER_S)}
        return JsonResponse({"error": "Repeat this call."}, status=409, headers=headers)


urlpatterns = [
    path("", order_page),
    path("api/orders", order_by_call),
    path("login/", LoginView.as_view(template_name="order.html", next_page="/")),
]
