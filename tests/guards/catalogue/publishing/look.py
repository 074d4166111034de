"""Guards of the look: readable colours, harmless logos, drafts that stay private."""

from tests.guards.notation import guards

GUARDS = guards(r"""
an accent can be read on light and on dark paper
    _readable: while any(contrast(found, paper) < «ENOUGH → 1» for paper in papers):
    test_every_accent_can_be_read_in_light_and_dark
a logo refers to no other file
    _check.begin: if local not in _SHAPES «or not all(map(_is_inside, attributes.values()))»:
    test_hostile_or_unfit_drawing_is_refused
a logo has only shapes, paths and gradients
    _check.begin: if «local not in _SHAPES or» not all(map(_is_inside, attributes.values())):
    test_hostile_or_unfit_drawing_is_refused
a logo has no element outside the namespace of SVG
    _check.begin: if «not space or» (elements == 1 and name != f"{_SVG} svg"):
    test_hostile_or_unfit_drawing_is_refused
the process that draws a logo opens no file
    give_up_rights: «resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))»
    test_the_drawing_program_reads_no_file_of_the_server
the process that draws a logo has little time
    give_up_rights: «resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))»
    test_a_drawing_of_endless_dashes_is_stopped
a logo with a document type is refused
    _check: «parser.StartDoctypeDeclHandler = refuse_doctype»
    test_hostile_or_unfit_drawing_is_refused
the current logo is not unused
    unused_images: UNION ALL SELECT html_mail FROM edition «UNION ALL SELECT logo FROM newsletter»
    test_current_and_published_logos_are_never_deleted_as_unused
the logo of a published letter is not unused
    unused_images: «UNION ALL SELECT html_mail FROM edition» UNION ALL SELECT logo FROM newsletter
    test_current_and_published_logos_are_never_deleted_as_unused
the preview of the look shows no draft to operators
    _latest_content: if «any(map(request.user.has_perm, MAY_WRITE)) → True»:
    test_only_authors_who_may_write_see_a_draft
a letter without its link to unsubscribe is found by the check
    _render: if «not all(uses_field(text, field) for one in parts for text in (one.html, one.text))
        → False»:
    test_broken_template_is_named
""")
