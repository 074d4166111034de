"""Pages put names into the quotation marks of their language."""

from django.utils.translation import override

from publishing.editions.audience import TagChoice, choice_words
from subscribers.importing.file_format.read_file import Description
from subscribers.importing.import_sentences import columns_sentence
from subscribers.refusal_sentences import refuse, sentence_of


def test_names_are_quoted_as_in_german() -> None:
    read_as = Description(
        "UTF-8", "commas", has_header=True, line_ends="LF", used_columns={"email": ["“Mail”"]}
    )
    with override("de"):
        assert "„Birds“" in choice_words("everyone", TagChoice(with_tags=((1, "Birds"),)))
        assert "„Mail“" in columns_sentence(read_as)
        assert "„Spalte 3“" in sentence_of(refuse("status_empty", column="column 3"))
        for code, name in (("zip_with_several_lists", "names"), ("map_unknown_column", "columns")):
            refusal = refuse(code, column="x", **{name: ["a.csv", "b.csv"]})
            assert "„a.csv“, „b.csv“" in sentence_of(refusal)
