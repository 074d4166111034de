"""Guards of sign-in: the number of tries, and required factors."""

from tests.guards.notation import guards

GUARDS = guards(r"""
a known browser has its own count
    throttle_key: return _hash(«known_browser.read_browser_number(request, name) → ""», name)
    test_strangers_cannot_lock_an_author_out_of_a_known_browser
the cookie of a known browser belongs to one author
    read_browser_number: return number «if cookie_author == author else ""»
    test_the_cookie_is_for_one_author
a typed name is stored as a keyed hash only
    _hash: return «salted_hmac("homing.sign-in.throttle", value, algorithm="sha256").hexdigest() →
        value»
    test_typed_secrets_are_not_stored_or_logged
no field of a failed form is stored
    _drop_request_data: «instance.get_data = instance.post_data = instance.http_accept =
        instance.path_info = ""»
    test_typed_secrets_are_not_stored_or_logged
with two-step sign-in the password alone is not enough
    after_first_step: if «two_step_devices.is_on(author) → False»:
    test_the_right_password_alone_gives_no_session
after too many failures no code is checked
    SignIn._check_code: if «not may_try(self.request, name) → False»: return
    test_wrong_codes_count_as_failed_sign_ins
a new password ends the wait for a code
    _author_waiting_for_code: «or not constant_time_compare(session_hash,
        author.get_session_auth_hash())»
    test_a_new_password_ends_the_wait_for_a_code
two-step set-up ends earlier sessions
    User._get_session_auth_hash: if «self.two_step_since is None → True» and
    test_set_up_ends_earlier_sessions
a change of passkeys ends other sessions
    User._get_session_auth_hash: «and self.sign_in_methods_changed_at is None»:
    test_a_change_ends_all_other_sessions
a challenge of a passkey works once
    take_challenge: not «request.session.pop(_KEY, None) → request.session.get(_KEY)»:
    test_a_challenge_works_once
a challenge of a passkey works once, also for two requests at the same time
    take_challenge: Session.objects«.select_for_update()».filter
    test_a_challenge_works_once
a challenge of a passkey expires after five minutes
    _unsigned: signing.loads(signed, salt=_KEY, max_age=«_FIVE_MINUTES_S → None»)
    test_a_challenge_expires_after_five_minutes
a passkey is for this site only
    _server: verify_origin=lambda given: «given == origin → True»
    test_every_refusal_shows_the_same_page
a passkey signs in only after the device has verified its owner
    ask_to_sign_in: user_verification=«UserVerificationRequirement.REQUIRED → None»
    test_every_refusal_shows_the_same_page
a passkey is for one author
    check_signature: if «given.response.user_handle != user_handle → False»: raise
    test_every_refusal_shows_the_same_page
a copied passkey is refused
    check: if «(count or passkey.sign_count) and count <= passkey.sign_count → False»:
    test_every_refusal_shows_the_same_page
a passkey of a disabled author is refused
    check: if «not (author.is_active and author.is_staff) → False»: return None
    test_every_refusal_shows_the_same_page
refused passkeys count as failed sign-ins
    passkey_sign_in: «count_failure(request, name)» refused
    test_refused_passkeys_count_as_failed_sign_ins
an open session alone cannot add a passkey
    _start_to_add: if «error := identity_error(request) → False»: return
    test_every_change_needs_the_password
an open session alone cannot delete a passkey
    passkey_page: if «error := identity_error(request) → False»: return
    test_every_change_needs_the_password
the last sign-in method stays
    remove_method: if «rows.exists() and _is_last(author, method) → False»: return False
    test_the_last_sign_in_method_stays
two removals at once leave one sign-in method
    locked_author: User.objects«.select_for_update()».get
    test_the_last_sign_in_method_stays
where two steps are required, a password alone cannot replace a passkey
    after_first_step: if «SignInMethod.PASSKEY in methods → False»:
    test_a_passkey_counts_as_two_steps
where the issuer is the second step, a password alone is refused
    two_step_methods: if «settings.OIDC_ISSUER and settings.OIDC_IS_TWO_STEP and accounts.exists()
        → False»:
    test_a_password_alone_is_no_way_around_the_issuer
only letters of ASCII have two cases in an address
    find_author: match «[one for one in rows if _ascii_lower(one.email) == _ascii_lower(email)] →
        list(rows)»:
    test_other_letters_are_no_other_case
an identity token is for this site only
    _read_claims: «"aud": {"essential": True, "value": settings.OIDC_CLIENT_ID},»
    test_a_wrong_token_signs_nobody_in[wrong audience]
an issuer that calls itself by another address is refused
    _client: if «str(metadata.get("issuer")).rstrip("/") != settings.OIDC_ISSUER → False»: raise
    test_an_issuer_with_another_name_is_refused
only a verified address links an account
    read_identity: email = «claims.get("email") if claims.get("email_verified") is True else "" →
        claims.get("email")»
    test_an_address_must_be_verified[False]
the organisation signs in no disabled author
    find_author: is_allowed = «account.user.is_active and account.user.is_staff → True»
    test_disabled_authors_are_unknown[change0]
a visit to the issuer comes back within ten minutes
    organisation_return: max_age=«TEN_MINUTES_S → None»)
    test_a_visit_of_more_than_ten_minutes_is_refused
only the hash of a recovery code is stored
    _hash: «base64.urlsafe_b64encode(hashlib.sha256(code.encode()).digest()[:12]).decode() → code»
    test_secrets_and_recovery_codes_cannot_be_read
guesses at an open session count as failed sign-ins
    identity_error: «count_failure(request, name)» return error
    test_guesses_at_an_open_session_count_as_failed_sign_ins
an open session alone cannot switch two-step sign-in off
    identity_error: error = str(«NEITHER if has_codes else NOT_YOUR_PASSWORD → ""»)
    test_an_open_session_alone_cannot_turn_it_off
    test_set_up_needs_the_password
required two-step sign-in closes all pages except its set-up
    EnforceTwoStep.process_view: «not settings.REQUIRE_SECOND_FACTOR → True»
    test_required_set_up_closes_every_other_page
the secret is shown only in the session that began the set-up
    _pending_id: «request.session.get(_PENDING, (None, "")) →
        (TOTPDevice.objects.order_by("pk").values_list("pk", flat=True).last(),
        author.get_session_auth_hash())»
    test_only_the_session_of_a_set_up_sees_the_secret
a set-up expires after fifteen minutes
    pending_device: «, created_at__gt=since»)
    test_a_set_up_expires_after_fifteen_minutes
a new password ends a set-up
    _pending_id: return device_id «if is_current else None»
    test_a_new_password_ends_a_set_up
no set-up begins while two-step sign-in is on
    start_setup: «if is_on(author): return None» TOTPDevice
    test_setup_is_refused_while_two_step_sign_in_is_on
guesses of the old password count as failed sign-ins
    ChangePassword.post: if «not may_try(request, name) → False»: return
    test_guesses_of_the_old_password_count_as_failed_sign_ins
an old password that was changed meanwhile is refused
    ChangePassword._locked_account: .objects«.select_for_update(no_key=True)» return
    test_the_second_of_two_concurrent_changes_is_refused
a user changes their password only with the old one
    AuthorAdmin.user_change_password: if «unquote(id) == str(request.user.pk) → False»:
    test_changing_ones_own_password_needs_the_old_one
an open session alone cannot change a password
    AuthorAdmin.user_change_password: if «is_change and (error := identity_error(request)) →
        False»: messages.error
    test_changing_another_users_password_needs_ones_own
an open session alone cannot create a token
    tokens: if «error := identity_error(request) → False»: raise
    test_errors_are_shown_and_the_form_keeps_its_values[facts4-This is not your password.]
two-step sign-in is switched off together with its log entry
    remove: «with _locked(author): → if True:» was_on
    test_two_step_is_not_turned_off_without_its_log_entry[by_an_operator]
    test_two_step_is_not_turned_off_without_its_log_entry[by_its_owner]
""")
