"""A paragraph with nothing but the URL of a video becomes a button."""

import pytest

from delivery.mail.colours_and_typefaces import look_of
from delivery.mail.inline_css import inline_styles
from delivery.models import Newsletter
from publishing.content.draft_content import MARKDOWN, DraftFields, build_content
from publishing.content.markdown import render_markdown
from publishing.content.sanitise_html import sanitise_html
from publishing.content.videos import LONGEST_ADDRESS, Video, find_video

ID = "a_b-C_3d_E5"


@pytest.mark.parametrize(
    "address",
    [
        f"https://www.youtube.com/watch?v={ID}",
        f"https://youtube.com/watch?t=9s&v={ID}&feature=share",
        f"https://m.youtube.com/watch?v={ID}#t=9",
        f"https://youtu.be/{ID}?si=x",
        f"https://YouTu.be/{ID}/",
        f"https://www.youtube.com/shorts/{ID}",
        f"https://www.youtube.com/live/{ID}?t=9",
    ],
)
def test_addresses_of_youtube_name_their_video(address):
    assert find_video(f" {address}\n") == Video(address, ID)


def test_addresses_of_vimeo_are_found_and_become_https():
    assert find_video("https://vimeo.com/76979871") == Video("https://vimeo.com/76979871")
    unlisted = Video("https://www.vimeo.com/76979871/0a1b2c3d4e")
    assert find_video("http://www.vimeo.com/76979871/0a1b2c3d4e") == unlisted


NO_VIDEOS = [
    *("", "https://", "https://[", "//youtu.be/" + ID, f"youtu.be/{ID}"),
    f"https://youtube.com.example.org/watch?v={ID}",
    f"https://notyoutube.com/watch?v={ID}",
    f"https://www.youtube.com@example.org/watch?v={ID}",
    f"https://example.org/www.youtube.com/watch?v={ID}",
    f"https://example.org\\@youtu.be/{ID}",
    f"https://you:me@youtu.be/{ID}",
    f"https://youtu.be:8443/{ID}",
    f"https://youtu.be./{ID}",
    f"https://y\u043eutu.be/{ID}",
    f"javascript://youtu.be/{ID}",
    f"data://youtu.be/{ID}",
    f"ftp://youtu.be/{ID}",
    f"https://youtu.be/{ID}x",
    f"https://youtu.be/{'x' * 100_000}",
    f"https://youtu.be/{ID}?{'x' * LONGEST_ADDRESS}",
    "https://youtu.be/../../etc/ab",
    f"https://www.youtube.com/watch?v={ID}%2F..",
    f"https://www.youtube.com/channel/{ID}",
    "https://www.youtube.com/watch",
    "https://vimeo.com/features",
    f"https://vimeo.com/{'9' * 99}",
    f"https://youtu.be/{ID} https://youtu.be/{ID}",
    f'https://youtu.be/{ID}?"><script>',
    f"https://youtu.be/{ID}?a={{{{ email }}}}",
]


@pytest.mark.parametrize("text", NO_VIDEOS, ids=lambda text: text[:60])
def test_other_text_is_no_video(text):
    assert find_video(text) is None


@pytest.mark.django_db
class TestRendered:
    ADDRESS = f"https://www.youtube.com/watch?v={ID}&t=9s"

    def content(self, letter, text=""):
        return build_content(DraftFields(title="Swifts", format=MARKDOWN, letter=letter, text=text))

    def test_address_alone_becomes_a_button_everywhere(self):
        content = self.content(f"See:\n\n{self.ADDRESS}\n\nBye")
        href = self.ADDRESS.replace("&", "&amp;")
        button = f'<p class="button"><a href="{href}">\u25b6\ufe0e Watch the video</a></p>'

        assert content.html == f"<p>See:</p>\n{button}\n<p>Bye</p>\n"
        assert content.text == f"See:\n\n\u25b6\ufe0e Watch the video ({self.ADDRESS})\n\nBye"
        mail = inline_styles(content.html, look_of(Newsletter()))
        assert f'<a class="press" href="{href}"' in mail
        shown = sanitise_html(content.html)
        assert f'<p class="button"><a href="{href}"' in shown
        assert "Watch the video" in shown

    def test_many_addresses_cost_one_query(self, django_assert_num_queries):
        Newsletter.objects.get_current()
        with django_assert_num_queries(1):
            assert render_markdown(f"{self.ADDRESS}\n\n" * 3).count("button") == 3

    @pytest.mark.parametrize(
        "letter",
        [
            *("Watch {}", "`{}`", "    {}", "- {}", "{} now", "<{}>"),
            *("> {}", "- a\n\n- {}", "1. a\n\n   {}", "[^1]\n\n[^1]: {}"),
        ],
    )
    def test_address_with_other_text_stays_as_it_is(self, letter):
        made = render_markdown(letter.format(self.ADDRESS))
        assert "button" not in made
        assert "watch?v=" in made

    def test_the_words_are_in_the_newsletters_language(self):
        Newsletter.objects.update_or_create(pk=1, defaults={"language": "de"})
        assert "\u25b6\ufe0e Video ansehen</a>" in self.content(self.ADDRESS).html

    def test_a_linked_picture_stays_a_link_in_all_parts(self):
        picture = "[![Video: Swifts](/pictures/1.jpg){width=100%}](https://youtu.be/abc)"
        content = self.content(picture)
        image = '<img src="/pictures/1.jpg" alt="Video: Swifts"'
        sized = f'<a href="https://youtu.be/abc">{image} width="536" /></a>'
        assert sized in content.html
        assert content.text == "Video: Swifts (https://youtu.be/abc)"
        assert '<a href="https://youtu.be/abc"' in sanitise_html(content.html)
        assert image in sanitise_html(content.html)
