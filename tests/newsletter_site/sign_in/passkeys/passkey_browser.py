"""A browser with a device for passkeys."""

import json
import re
from html import unescape
from typing import Any

from tests.newsletter_site.sign_in.passkeys.software_passkey import SoftwarePasskey
from tests.newsletter_site.sign_in.two_step.two_step_browser import PASSWORD, Browser

PAGE = "/admin/passkeys/"
SIGN_IN = "/admin/login/passkey/"
OPTIONS = f"{SIGN_IN}options/"


class PasskeyBrowser(Browser):
    def begin(self, name: str = "Phone", password: str = PASSWORD) -> dict[str, Any]:
        """Start to add a passkey, and return what the site asks of the device."""
        self.send(PAGE, do="begin", name=name, password_or_code=password)
        found = re.search(r'data-options="(.+?)"', self.at(PAGE).content.decode())
        options: dict[str, Any] = json.loads(unescape(found[1])) if found else {}
        return options

    def finish(self, answer: str) -> Any:
        return self.post(PAGE, {"do": "finish", "credential": answer}, secure=True, follow=True)

    def add(self, passkey: SoftwarePasskey, name: str = "Phone") -> Any:
        return self.finish(passkey.create(self.begin(name)))

    def options(self) -> dict[str, Any]:
        options: dict[str, Any] = self.send(OPTIONS).json()
        return options

    def sign_in_with(self, passkey: SoftwarePasskey, **fields: str) -> Any:
        return self.send(SIGN_IN, credential=passkey.sign(self.options()), **fields)

    def change(self, passkey: int, **fields: str) -> Any:
        fields = {"password_or_code": PASSWORD} | fields
        return self.post(f"{PAGE}{passkey}/", fields, secure=True, follow=True)
