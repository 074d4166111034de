"""The page on which readers choose their topics."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from delivery.mail.test_letter import TEST_RECIPIENT
from subscribers.client_network import network_of
from subscribers.fields.topics import load_topics, read_tag_ids
from subscribers.leaving.choose_topics import choose_topics
from subscribers.leaving.unsubscribe_view import reader_page
from subscribers.links.unsubscribe_token import PREFERENCES, read, token_for
from subscribers.models import Subscriber


@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
def preferences(request: HttpRequest, token: str) -> HttpResponse:
    """
    Show the topics for GET; save the choice for POST.

    GET changes nothing, because link scanners fetch it. POST needs no CSRF token: the URL is the
    permission, and the page works without cookies.
    """
    reader_id = read(token, PREFERENCES)
    if reader_id is None:
        return reader_page(request, "unknown_link", status=404)
    if reader_id == TEST_RECIPIENT:
        return reader_page(request, "test_letter_link")
    topics = load_topics()
    saves = request.method == "POST"
    if saves:
        # A topic that the author added meanwhile was not on the page, so it is not in the choice.
        shown = read_tag_ids(request.POST.getlist("shown")) & {topic.pk for topic in topics}
        chosen = read_tag_ids(request.POST.getlist("topic")) & shown
        choose_topics(reader_id, chosen, shown - chosen, network=network_of(request))
    reader = Subscriber.objects.filter(id=reader_id).first()
    if reader is None or reader.unsubscribed_at is not None:
        return reader_page(request, "unsubscribed", reader)
    return reader_page(
        request,
        "preferences",
        reader,
        topics=[(topic, topic.pk in reader.tags) for topic in topics],
        is_saved=saves,
        unsubscribe_token=token_for(reader_id),
    )
