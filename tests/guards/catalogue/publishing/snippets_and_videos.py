"""Guards of snippets and videos: nothing doubled, and no fetch from another host."""

from tests.guards.notation import guards

GUARDS = guards(r"""
a snippet that is posted twice is one snippet
    save_snippet: if «same is not None and snippet.pk in (None, same.pk) → False»:
    test_a_form_posted_twice_saves_one_snippet
there are at most fifty snippets
    save_snippet: if «is_new and not can_add_snippet() → False»:
    test_there_are_at_most_fifty_snippets
an image in a snippet is not unused
    unused_images: «UNION ALL SELECT text FROM snippet»
    test_image_is_kept_if_a_letter_uses_it_again
a video has nothing before its host, and no port
    find_video: host = parts.«netloc.lower() → hostname»
    test_other_text_is_no_video
the id of a video is eleven letters, digits, - and _
    find_video: if «_ID.fullmatch(found) → found» else None
    test_other_text_is_no_video
the picture of a video comes from one host
    store_picture: hosts=«{host} → type("Any", (), {"__contains__": lambda *_: True})()»,
    test_a_picture_of_another_host_is_not_fetched
the picture of a video counts as an upload
    store_picture: «count_attempt(by)»
    test_fetches_count_as_uploads_of_the_hour
""")
