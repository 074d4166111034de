"""The URLs of the site."""

from django.conf import settings
from django.contrib import admin
from django.urls import include, path, re_path
from django.views.decorators.cache import cache_control
from django.views.generic import RedirectView

from newsletter_site.api.mount_api import url_patterns
from newsletter_site.api.openapi_document import openapi
from newsletter_site.authors.authors_view import (
    act_on_author,
    author_page,
    authors_page,
    change_invitation,
)
from newsletter_site.authors.join_view import join
from newsletter_site.authors.profile_view import leave_page, profile, sign_out_elsewhere, start
from newsletter_site.sign_in.change_password import change_password
from newsletter_site.sign_in.organisation.organisation_sign_in_view import (
    organisation_return,
    organisation_sign_in,
)
from newsletter_site.sign_in.passkeys.passkey_sign_in_view import passkey_options, passkey_sign_in
from newsletter_site.sign_in.passkeys.passkeys_page import passkey_page, passkeys_page
from newsletter_site.sign_in.sign_in_view import sign_in, unblock_sign_in
from newsletter_site.sign_in.two_step_page import two_step_page, two_step_qr_code
from newsletter_site.tokens.tokens_view import revoke_token, tokens
from publishing.archive.archive_pages import home, not_there
from publishing.archive.written_pages import about, imprint
from publishing.images.images_view import serve_image, serve_small_copy
from publishing.look.look_style_sheet import serve_look

handler400 = "newsletter_site.middleware.error_pages.bad_request"
handler500 = "newsletter_site.middleware.error_pages.server_error"

# Browsers request /favicon.ico even if a page names another icon.
favicon = cache_control(public=True, max_age=86_400)(
    RedirectView.as_view(url=f"{settings.STATIC_URL}favicon.svg")
)

urlpatterns = [
    path("", include("newsletter_site.operations.urls")),
    path("admin/newsletters/tokens/", tokens, name="tokens"),
    path("admin/newsletters/tokens/<int:token>/revoke/", revoke_token, name="revoke_token"),
    path("admin/newsletters/", include("subscribers.desk.urls")),
    path("admin/newsletters/", include("publishing.urls")),
    # Replace two pages of Django's admin. The first two URLs keep Django's names,
    # `admin:login` and `admin:password_change`.
    path("admin/login/", sign_in, name="login"),
    path("admin/password_change/", change_password, name="password_change"),
    path("admin/login/known/<str:token>/", unblock_sign_in, name="unblock_sign_in"),
    path("admin/login/passkey/", passkey_sign_in, name="passkey_sign_in"),
    path("admin/login/passkey/options/", passkey_options, name="passkey_options"),
    path("admin/login/organisation/", organisation_sign_in, name="organisation_sign_in"),
    path("admin/login/organisation/back/", organisation_return, name="organisation_return"),
    path("admin/passkeys/", passkeys_page, name="passkeys"),
    path("admin/passkeys/<int:passkey>/", passkey_page, name="passkey"),
    path("admin/second-factor/", two_step_page, name="two_step"),
    path("admin/second-factor/code.svg", two_step_qr_code, name="two_step_qr_code"),
    path("admin/start/", start, name="start"),
    path("admin/authors/", authors_page, name="authors"),
    path("admin/authors/<uuid:author>/", author_page, name="author"),
    path("admin/authors/<uuid:author>/<slug:what>/", act_on_author, name="act_on_author"),
    path("admin/invitations/<int:invitation>/", change_invitation, name="change_invitation"),
    path("admin/join/<str:token>/", join, name="join"),
    path("admin/profile/", profile, name="profile"),
    path("admin/profile/sessions/", sign_out_elsewhere, name="sign_out_elsewhere"),
    path("admin/profile/leave/", leave_page, name="leave"),
    path("admin/", admin.site.urls),
    path("api/v1/openapi.json", openapi),
    path("api/v1/", url_patterns()),
    path("pictures/<uuid:image>.<slug:extension>", serve_image, name="image"),
    path("pictures/<uuid:image>/small.webp", serve_small_copy, name="small_image"),
    path("look.css", serve_look, name="look"),
    path("about/", about, name="about"),
    path("imprint/", imprint, name="imprint"),
    path("archive/", include("publishing.archive.urls")),
    re_path(r"^[/]*(?=(?i:archive)/)[A-Za-z]+/+(?P<rest>[\s\S]+)$", not_there),
    path("", include("subscribers.urls")),
    path("", include("delivery.urls")),
    path("favicon.ico", favicon),
    path("", home, name="home"),
]
