"""Guards of moved-in issues: never mailed, only public ones, clean, each once."""

from tests.guards.notation import guards

GUARDS = guards(r"""
a moved-in issue goes to nobody
    store_issue: goes_to=«NOBODY → "everyone"»,
    test_a_moved_in_issue_is_never_mailed
a correction of a moved-in issue goes to nobody unless the author says so
    default_goes_to: if «newest is not None and newest.issue.moved_from and newest.goes_to == NOBODY
        → False»:
    test_a_correction_of_a_moved_in_issue_mails_nobody
only an audience of everyone is public at Substack
    Export._substack: (word_of(row, "audience").lower() «!= "everyone" → == "only_paid"»,
    test_an_issue_that_is_not_public_stays_out
a letter with a paywall is not published
    _cleaned: if «_PAYWALL_CLASS in classes → False»:
    test_a_letter_with_a_paywall_stays_out
a letter of another product is sanitised
    clean_letter: html = «sanitise_html(» "".join(_cleaned(product, parts, take, slug)) «)»
    test_the_letter_loses_everything_of_the_old_product
forms and widgets of another product are removed
    _instead: if «tag in _REMOVED_TAGS or classes & _REMOVED_CLASSES[product] → False»:
    test_the_letter_loses_everything_of_the_old_product
braces of another product are no merge fields
    clean_letter: return «html.replace("{{", "{".translate(AS_ENTITIES) * 2) → html», "<iframe" in
        letter
    test_the_letter_loses_everything_of_the_old_product
pictures are fetched only from the product's hosts
    ImageCopier._fetch: if «urlsplit(address).netloc.lower() not in self.export.hosts → False»:
    test_a_picture_that_cannot_be_fetched_keeps_its_address
each redirect of a picture must stay on these hosts
    LinkOpener.fetch: if «not url.startswith("https://") or urlsplit(url).netloc.lower() not in
        hosts → False»:
    test_file_of_another_host_is_not_fetched
a fetched file is limited
    LinkOpener.fetch: if answer.status == 200 «and len(answer.content) <= most»:
    test_file_is_fetched_up_to_its_limit
an issue and its checkpoint are stored together
    renew: «raise LeaseLostError → return»
    test_a_worker_that_lost_its_lease_moves_nothing_in
a killed move continues after the last settled issue
    _run: islice(export.issues, «move.done → 0», None)
    test_a_killed_move_continues_with_the_same_result
an issue is moved in once
    prepare: if «is_known(export.product, past) → False»:
    test_the_same_export_again_creates_nothing
an issue of this site does not come in from its own export
    is_known: if «product is Product.HOMING and past.key and
        Issue.objects.filter(pk=past.key).exists() → False»:
    test_a_site_knows_its_own_issues
only public issues come in from another Homing
    _version: skip = None if «is_public → True» else Skip.DRAFT
    test_issues_come_back_as_they_were
an entry of a ZIP file beyond its limit is not unpacked
    ZipEntries.open: if «entry.file_size > most → False»:
    test_an_entry_beyond_its_limit_is_not_unpacked
a row in a list of issues has a maximum length
    _Lines.__next__: if «self.row > LONGEST_ROW → False»:
    test_hostile_exports_stay_within_their_memory
a list of issues has a maximum number of rows
    _csv_rows: if «number >= MOST_ISSUES → False»:
    test_blank_rows_of_a_list_of_issues_count
a file that ends its process is refused once
    run_separately: «task.refuse(owner)»
    test_a_move_whose_process_is_killed_is_refused_once
the process of a task has limited memory
    limit_memory: «resource.setrlimit(resource.RLIMIT_DATA, (used + MEMORY, used + MEMORY))»
    test_a_process_ends_at_its_limits
""")
