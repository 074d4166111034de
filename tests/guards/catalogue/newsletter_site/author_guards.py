"""Guards of accounts: the last publisher, and invitations."""

from tests.guards.notation import guards

GUARDS = guards(r"""
two who leave at the same time do not both leave
    accounts_locked: «cursor.execute(_LOCK)» before
    test_two_who_leave_together_do_not_both_leave
the last account that may publish stays
    accounts_locked: lost = «before - _held() → set()»
    test_the_last_administrator_stays[by_page]
    test_the_last_administrator_stays[by_command]
an account without a password replaces nobody
    _holders_exist: return «holders.exclude(**never) → holders».exists()
    test_the_last_administrator_stays[by_leaving]
drafts go only to an author who can still write
    _hand_over: if «not successors_of(author).filter(pk=successor.pk).exists() → False»: raise
    test_what_changed_meanwhile_is_read_again
sessions under an earlier secret key can be ended
    _sessions_of: hashes = [author.get_session_auth_hash()«,
        *author.get_session_auth_fallback_hash()»]
    test_sessions_under_an_earlier_secret_key_end_too
the admin keeps the last account too
    _keep_last: «with accounts_locked(): → if True:» return
    test_the_admin_keeps_the_last_account_too
only the link of the last mail works
    open_invitation: return Invitation.objects.filter(«number=request.number, → pk__gt=0,»
        expires_at__gt=Now()).first()
    test_only_the_link_of_the_last_mail_works
an expired link makes no account
    open_invitation: number=request.number«, expires_at__gt=Now()»
    test_a_link_expires_after_seven_days
an invitation ends with the right to invite
    accounts_locked: «Invitation.objects.exclude(invited_by__in=managers).delete()»
    test_an_invitation_ends_with_the_right_to_invite
an address that got an account since is not invited
    accept: if «User.objects.filter(email__iexact=invitation.address).exists() → False»:
    test_an_address_that_got_an_account_since_is_not_invited
a button pressed twice sends one invitation
    invite_again: filter(pk=invitation«, number=number»).first()
    test_only_the_link_of_the_last_mail_works
an administrator cannot change the account of an operator
    _refuse_superuser: if «author.is_superuser and not by.is_superuser → False»:
    test_an_administrator_cannot_change_an_operators_account
leaving ends the tokens for good
    leave: «revoke_all_of(author)» record_activity
    test_leaving_ends_sessions_and_tokens_and_keeps_drafts
noting the last use does not make a session longer
    _describe_session: «request.session.set_expiry(now +
        timedelta(seconds=settings.SESSION_COOKIE_AGE))»
    test_noting_the_last_use_does_not_make_a_session_longer
""")
