"""The page on which readers choose their topics and correct their name."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from delivery.mail.mark_test_letter import TEST_RECIPIENT
from delivery.reader_fields import NAME
from subscribers.client_network import network_of
from subscribers.fields.find_tags import load_topics, read_tag_ids
from subscribers.fields.reader_values import read_value, shown_again
from subscribers.leaving.choose_topics import choose_topics
from subscribers.leaving.unsubscribe_view import reader_page
from subscribers.links.token_page import damaged_link_page
from subscribers.links.unsubscribe_token import PREFERENCES, read, token_for
from subscribers.models import Subscriber
from subscribers.refusal_sentences import InputRefusal, sentence_of


@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
def preferences(request: HttpRequest, token: str) -> HttpResponse:
    """Show the topics for GET; save the choice, and a new name, for POST.

    GET changes nothing, because link scanners fetch the URL. POST needs no CSRF token: the URL is
    the permission, and the page works without cookies. A form without the name, such as the form on
    the page after the confirmation, keeps the name.
    """
    reader_id = read(token, PREFERENCES)
    if reader_id is None:
        return damaged_link_page(request)
    if reader_id == TEST_RECIPIENT:
        return reader_page(request, "test_letter_link")
    topics = load_topics()
    # If the author added a topic while the page was open, the page did not show this topic, so the
    # choice does not include it.
    shown = read_tag_ids(request.POST.getlist("shown")) & {topic.pk for topic in topics}
    chosen = read_tag_ids(request.POST.getlist("topic")) & shown
    typed = request.POST.get(NAME.name)
    name, error, is_saved = None if typed is None else read_value(NAME, typed), "", False
    if isinstance(name, InputRefusal):
        error = sentence_of(name)
    elif request.method == "POST":
        network = network_of(request)
        choose_topics(reader_id, chosen, shown - chosen, name=name, network=network)
        is_saved = True
    reader = Subscriber.objects.filter(id=reader_id).first()
    if reader is None or reader.unsubscribed_at is not None:
        return reader_page(request, "unsubscribed", reader)
    ticked = chosen if error else set(reader.tags)
    return reader_page(
        request,
        "preferences",
        reader,
        status=422 if error else 200,
        topics=[(topic, topic.pk in ticked) for topic in topics],
        field=NAME,
        typed=shown_again(typed or "") if error else reader.name,
        error=error,
        is_saved=is_saved,
        unsubscribe_token=token_for(reader_id),
    )
