"""A name server on loopback that gives the answers that a test sets."""

from __future__ import annotations

import socket
import threading

import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset

from publishing.external_checks.domain_records import NameServers


class LocalNameServer:
    """A name server over UDP with scripted answers.

    `records` maps (name, kind) to values. A name in `silent` gets no answer, and a name in `broken`
    gets SERVFAIL. Any other name does not exist.
    """

    def __init__(self) -> None:
        self.records: dict[tuple[str, str], list[str]] = {}
        self.silent: set[str] = set()
        self.broken: set[str] = set()
        self.asked: list[tuple[str, str]] = []
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve, daemon=True)

    @property
    def port(self) -> int:
        return int(self._socket.getsockname()[1])

    def known(self) -> NameServers:
        """Return an object that sends its DNS queries only to this server."""
        return NameServers(["127.0.0.1"], self.port)

    def __enter__(self) -> LocalNameServer:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as waker:
            waker.sendto(b"", self._socket.getsockname())
        self._thread.join(10)
        self._socket.close()

    def _serve(self) -> None:
        while True:
            packet, asker = self._socket.recvfrom(4096)
            if not packet:
                return
            answer = self._answer(dns.message.from_wire(packet))
            if answer is not None:
                self._socket.sendto(answer.to_wire(), asker)

    def _answer(self, query: dns.message.Message) -> dns.message.Message | None:
        question = query.question[0]
        name = question.name.to_text(omit_final_dot=True).lower()
        kind = dns.rdatatype.to_text(question.rdtype)
        self.asked.append((name, kind))
        if name in self.silent:
            return None
        answer = dns.message.make_response(query)
        answer.flags |= dns.flags.RA
        if name in self.broken:
            answer.set_rcode(dns.rcode.SERVFAIL)
        elif (name, kind) in self.records:
            answer.answer.append(
                dns.rrset.from_text(question.name, 60, "IN", kind, *self.records[name, kind])
            )
        elif not any(known == name for known, _ in self.records):
            answer.set_rcode(dns.rcode.NXDOMAIN)
        return answer
