"""A small OpenID provider, which answers over HTTP and signs as a real one does."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT, SECRET = "homing", "the client's secret"
KEY = RSAKey.generate_key(2048, {"kid": "1"})


class OpenidProvider:
    """The provider. Tests change its answers before a visitor comes back."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.reset()

    def reset(self) -> None:
        self.key = KEY
        self.algorithm = "RS256"
        self.claims: dict[str, Any] = {}
        self.metadata: dict[str, Any] = {}
        self.user_info: dict[str, Any] = {}
        self.asked: dict[str, str] = {}
        self.answer: Callable[[], tuple[int, bytes]] | None = None

    def sign_in(self, address: str, **claims: Any) -> str:
        """Sign a visitor in who comes with this address; return the address to go back to."""
        parts = urlsplit(address)
        self.asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
        now = int(time.time())
        self.claims = {
            "iss": self.url,
            "aud": CLIENT,
            "sub": "edith-1",
            "email": "edith@example.org",
            "email_verified": True,
            "iat": now,
            "exp": now + 300,
            "nonce": self.asked["nonce"],
            **claims,
        }
        return f"{self.asked['redirect_uri']}?code=the-code&state={self.asked['state']}"

    def respond(self, path: str, form: dict[str, str], authorization: str) -> tuple[int, bytes]:
        """Return the status and the body of an answer."""
        if self.answer:
            return self.answer()
        match path:
            case "/.well-known/openid-configuration":
                body: Any = {
                    "issuer": self.url,
                    "authorization_endpoint": f"{self.url}/authorize",
                    "token_endpoint": f"{self.url}/token",
                    "jwks_uri": f"{self.url}/keys",
                    "userinfo_endpoint": f"{self.url}/userinfo",
                    **self.metadata,
                }
            case "/keys":
                body = {"keys": [KEY.as_dict(private=False)]}
            case "/userinfo":
                body = self.user_info
            case "/token" if self._is_right(form, authorization):
                token = jwt.encode(
                    {"alg": self.algorithm, "kid": "1"},
                    {name: value for name, value in self.claims.items() if value is not None},
                    self.key,
                    algorithms=[self.algorithm],
                )
                body = {"access_token": "a", "token_type": "Bearer", "id_token": token}
            case _:
                return 400, b'{"error": "invalid_grant"}'
        return 200, json.dumps(body).encode()

    def _is_right(self, form: dict[str, str], authorization: str) -> bool:
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        basic = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        return (
            form["code"] == "the-code"
            and form["redirect_uri"] == self.asked["redirect_uri"]
            and (authorization == f"Basic {basic}" or form.get("client_secret") == SECRET)
            and self.asked["code_challenge_method"] == "S256"
            and challenge == self.asked["code_challenge"]
        )


@contextmanager
def running_provider() -> Iterator[OpenidProvider]:
    """Run a provider on a port of this machine."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            form = parse_qs(self.rfile.read(length).decode())
            status, body = provider.respond(
                urlsplit(self.path).path,
                {name: values[0] for name, values in form.items()},
                self.headers.get("Authorization", ""),
            )
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            if status == 302:
                self.send_header("Location", body.decode())
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET  # noqa: N815

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        provider = OpenidProvider(f"http://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever, args=[0.05], name="OpenID provider")
        thread.start()
        try:
            yield provider
        finally:
            server.shutdown()
            thread.join()
