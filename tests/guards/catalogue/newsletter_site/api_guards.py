"""Guards of the API: tokens, repeated calls, and rules for every answer."""

from tests.guards.notation import guards

GUARDS = guards(r"""
a revoked token is not accepted
    find_caller: hash=hash_token(token)«, revoked_at=None»)
    test_a_revoked_token_is_refused
an expired token is not accepted
    find_caller: Q(expires_at=None) | «Q(expires_at__gt=Now()) → ~Q(expires_at=None)»
    test_an_expired_token_is_refused
tokens of a user who may not sign in are refused
    find_caller: if user is None «or not user.is_staff»:
    test_a_user_who_may_not_sign_in_loses_their_tokens[is_staff]
a token has only the permissions it was made for
    Bearer.__call__: if «scope.name not in caller.scopes → False»:
    test_a_token_is_limited_to_its_scopes
a permission that a user lost is lost for their tokens too
    Bearer.__call__: if «not scope.is_allowed_for(caller.user) → False»:
    test_a_lost_permission_is_lost_for_tokens_at_once
users without staff status see and revoke no tokens
    tokens: «@staff_member_required» @require_http_methods
    test_only_superusers_see_and_revoke_tokens_of_others
revoking refuses tokens outside the given ones
    revoke: row = «among → ApiToken.objects».select_for_update(
    test_a_user_cannot_revoke_another_users_token
no token gets more permissions than its user has
    _refuse: if «too_much := scopes - {scope.name for scope in scopes_allowed_for(user)} → False»:
    test_a_token_needs_its_owners_permissions
cookies of an API call are ignored
    ApiBoundary.__call__: «request.META.pop("HTTP_COOKIE", None)»
    test_cookies_are_ignored
a token sent without TLS is refused and not redirected
    ApiBoundary._respond: if «settings.SECURE_SSL_REDIRECT and not request.is_secure() → False»:
    test_plain_http_is_refused_and_never_redirected
an invalid call claims no key
    run_once: and (refusal := «check() → None»)
    test_invalid_call_names_its_errors_and_claims_no_key
a call with other content is another call
    call_fingerprints: if «body is not None → False»:
    test_other_content_under_the_key_is_refused_with_link
a call with another query is another call
    call_fingerprints: for value in «request.GET.getlist(name) → [request.GET[name]]»
    test_a_call_with_another_query_is_another_call
the query belongs to a call
    call_fingerprints: for name in «sorted(request.GET) → ()» for
    test_a_call_with_another_query_is_another_call
equal keys of two users are two keys
    run_call: «get_caller(request).user.pk → UUID(int=1)»,
    test_equal_keys_of_two_users_are_two_keys
a release that adds a field recognises earlier calls
    call_fingerprints: «, exclude_defaults=True»
    test_a_new_field_keeps_the_fingerprint_of_earlier_calls
    test_a_default_value_equals_a_missing_field
the saved call does not reveal its content
    call_fingerprints: return «keyed_fingerprints( → [»content_hash(request.method or "",
        request.path, content)«) → ]»
    api::test_stored_fingerprints_reveal_no_address_without_the_secret_key
a call from before a new secret key is recognised
    keyed_fingerprints: for secret in (settings.SECRET_KEY, «*settings.SECRET_KEY_FALLBACKS»)]
    test_a_fallback_key_still_recognises_earlier_calls
another file is another call
    call_fingerprints: files": «files → []»,
    test_a_repeated_call_imports_nothing_more
an action through the API is one transaction with its saved answer
    act_on_issue: «with join_transaction() → if True»:
    test_api_call_runs_each_edition_action_once
a program cannot add a reader who unsubscribed
    skip_reason: if «known is not None and known.state in GONE → False»:
    test_a_gone_reader_is_skipped_with_a_reason[unsubscribed]
a program cannot add an erased reader
    skip_reason: if «known is None and erased_among([key]) → False» else
    test_a_suppressed_or_erased_reader_is_skipped
a reader added by a program does not count as signed up
    add_reader: source: Source = Source.«API → SIGN_UP»
    test_a_reader_added_by_a_program_did_not_sign_up
""")
