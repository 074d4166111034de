"""External checks against a real name server and a real web server on loopback."""

import ssl
import time
from ipaddress import ip_address
from pathlib import Path

import pytest
from requests.utils import DEFAULT_CA_BUNDLE_PATH

from publishing.external_checks import cached_results
from publishing.external_checks.check_letter import CONCURRENCY, MAX_LINKS, open_links
from publishing.external_checks.domain_records import DnsStatus, NameServers, look_up_domain
from publishing.external_checks.open_link import FetchError, LinkError, LinkOpener, LinkResult
from publishing.external_checks.ssrf_guard import is_public
from publishing.models import ExternalCheck
from tests.publishing.external_checks.fake_name_server import LocalNameServer
from tests.publishing.external_checks.fake_web_server import LocalWebServer

CERTIFICATE = str(Path(__file__).parents[2] / "delivery" / "loopback.pem")
DOMAIN = "almanack.example"
SPF = "v=spf1 include:spf.mtasv.net ~all"
LONG_AGO = 30.0
# Read the public root certificates only once, because reading them takes 40 ms.
TRUSTED = ssl.create_default_context(cafile=DEFAULT_CA_BUNDLE_PATH)


def in_time(seconds: float = LONG_AGO) -> float:
    return time.monotonic() + seconds


@pytest.fixture
def names():
    with LocalNameServer() as server:
        server.records = {("letters.test", "A"): ["127.0.0.1"]}
        yield server


@pytest.fixture
def site():
    with LocalWebServer() as server:
        yield server


@pytest.fixture
def here(names, site):
    """Return the web server's URL, with a host that the name server knows."""
    return f"http://letters.test:{site.port}"


def opener(names, **otherwise):
    """Return an opener that may connect to the tests' servers on loopback."""
    return LinkOpener(
        names.known(),
        **{"is_allowed": lambda place: place.is_loopback, "trusted": TRUSTED, **otherwise},
    )


@pytest.fixture
def opened(names):
    """Open a link, and return the answer."""

    def open_it(address, within_s=LONG_AGO, **otherwise):
        return opener(names, **otherwise).open(address, deadline=in_time(within_s))

    return open_it


def test_domain_lookup_returns_spf_dkim_return_path_and_dmarc(names):
    names.records = {
        (DOMAIN, "TXT"): [f'"{SPF[:10]}" "{SPF[10:]}"', '"other=1"'],
        (f"pm._domainkey.{DOMAIN}", "TXT"): ['"k=rsa; p=MIGf"'],
        (f"pm-bounces.{DOMAIN}", "CNAME"): ["pm.mtasv.net."],
        (f"_dmarc.{DOMAIN}", "TXT"): ['"v=DMARC1; p=none"'],
    }

    found = look_up_domain(DOMAIN, names.known())

    assert found.is_known
    assert found.texts.values == ("other=1", SPF)
    assert found.dkim.values == ("k=rsa; p=MIGf",)
    assert found.return_path.values == ("pm.mtasv.net",)
    assert found.dmarc.values == ("v=DMARC1; p=none",)
    assert found.dmarc_at == DOMAIN

    # The DMARC policy of the parent domain applies to the subdomain.
    below = look_up_domain(f"news.{DOMAIN}", names.known())
    assert (below.dmarc.values, below.dmarc_at) == (("v=DMARC1; p=none",), DOMAIN)

    names.silent = {DOMAIN, f"pm._domainkey.{DOMAIN}", f"pm-bounces.{DOMAIN}", f"_dmarc.{DOMAIN}"}
    silent = look_up_domain(DOMAIN, names.known())
    assert (silent.is_known, silent.dmarc.status) == (False, DnsStatus.NO_ANSWER)


def test_missing_name_missing_record_and_no_answer_differ(names):
    names.records = {("there.example", "A"): ["192.0.2.1"]}
    names.silent = {"silent.example"}
    names.broken = {"broken.example"}
    servers = names.known()

    def status_of(name, within_s=LONG_AGO):
        return servers.query(name, "TXT", deadline=in_time(within_s)).status

    assert status_of("gone.example") is DnsStatus.NO_SUCH_NAME
    assert status_of("there.example") is DnsStatus.NO_RECORD
    assert status_of("silent.example", within_s=0.5) is DnsStatus.NO_ANSWER
    assert status_of("broken.example") is DnsStatus.NO_ANSWER
    assert status_of("..a") is DnsStatus.NO_ANSWER
    nobody = NameServers([], 53)
    assert nobody.query(DOMAIN, "TXT", deadline=in_time(0.5)).status is DnsStatus.NO_ANSWER


def test_query_ends_at_its_deadline(names):
    names.silent = {DOMAIN}

    assert names.known().query(DOMAIN, "TXT", deadline=in_time(1.2)).status is DnsStatus.NO_ANSWER
    assert len(names.asked) == 1  # a second try would come only after three seconds
    assert names.known().query(DOMAIN, "TXT", deadline=in_time(-1)).status is DnsStatus.NO_ANSWER
    assert len(names.asked) == 1


@pytest.mark.parametrize(
    ("path", "status", "well", "dead"),
    [
        ("/", 200, True, False),
        ("/404", 404, False, True),
        ("/503", 503, False, True),
        ("/429", 429, False, False),
    ],
)
def test_link_is_opened_for_its_status(here, opened, site, path, status, well, dead):
    answer = opened(f"{here}{path}")

    assert answer.status == status
    assert (answer.is_ok, answer.is_dead) == (well, dead)
    assert site.requests[0] == ("HEAD", f"letters.test:{site.port}", path)


@pytest.mark.parametrize("status", [405, 501, 404])
def test_server_that_refuses_head_gets_get(here, opened, site, status):
    answer = opened(f"{here}/head-{status}")

    assert answer.status == 200
    assert [method for method, _, _ in site.requests] == ["HEAD", "GET"]


def test_request_carries_no_cookie_password_or_referrer(opened, site):
    opened(f"http://edith:secret@letters.test:{site.port}/ä b?q=ü#f")

    assert site.requests == [("HEAD", f"letters.test:{site.port}", "/%C3%A4%20b?q=%C3%BC")]
    assert {"Cookie", "Authorization", "Referer"}.isdisjoint(site.headers[0])


def test_three_redirects_are_followed_and_a_fourth_is_not(here, opened):
    followed = opened(f"{here}/onwards-3")
    refused = opened(f"{here}/onwards-4")

    assert followed == LinkResult(status=200, url=f"{here}/onwards-0")
    assert refused.error is LinkError.TOO_MANY_REDIRECTS
    assert refused.is_dead


def test_missing_host_is_dead_and_silent_host_is_not_checked(opened, names):
    names.broken = {"silent.test"}
    with LocalWebServer() as closed:
        port = closed.port

    gone = opened("https://gone.test/")
    silent = opened("https://silent.test/")
    refused = opened(f"http://letters.test:{port}/")

    assert (gone.error, gone.is_dead) == (LinkError.NO_SUCH_HOST, True)
    assert (silent.error, silent.is_dead) == (LinkError.DNS_FAILED, False)
    assert refused.error is LinkError.REFUSED


@pytest.mark.parametrize("path", ["/hang", "/drip"])
def test_connection_to_a_slow_server_ends_at_the_deadline(here, opened, site, path):
    answer = opened(f"{here}{path}", within_s=0.7)

    assert answer.error is LinkError.TIMEOUT
    assert not answer.is_dead
    assert not site.let_go.is_set()


def test_certificate_must_match_the_name_in_the_link(opened):
    trusted = ssl.create_default_context(cafile=CERTIFICATE)
    with LocalWebServer(CERTIFICATE) as site:
        by_address = opened(f"https://127.0.0.1:{site.port}/", trusted=trusted)
        by_name = opened(f"https://letters.test:{site.port}/", trusted=trusted)
        untrusted = opened(f"https://127.0.0.1:{site.port}/")

    assert by_address.is_ok
    assert by_name.error is LinkError.CERTIFICATE
    assert untrusted.error is LinkError.CERTIFICATE


@pytest.fixture
def fetch(names):
    """Return a function that fetches a URL; only the server `host` is allowed."""
    trusted = ssl.create_default_context(cafile=CERTIFICATE)
    with LocalWebServer(CERTIFICATE) as site, LocalWebServer(CERTIFICATE) as another:
        host, other = f"127.0.0.1:{site.port}", f"127.0.0.1:{another.port}"

        def fetch_it(url, **otherwise):
            one = opener(names, trusted=trusted, **otherwise)
            address = url.format(host=host, other=other)
            return one.fetch(address, hosts={host}, most=9, deadline=in_time())

        yield fetch_it


def test_file_is_fetched_up_to_its_limit(fetch):
    assert fetch("https://{host}/bytes-9") == b"x" * 9
    with pytest.raises(FetchError):
        fetch("https://{host}/bytes-10")


@pytest.mark.parametrize(
    "url",
    [
        "http://{host}/bytes-9",
        "https://{other}/bytes-9",
        "https://{host}@{other}/bytes-9",
        "https://{host}/to?u=https://{other}/bytes-9",
        "https://{host}/to?u=http://{host}/bytes-9",
        "https://{host}/bytes-5-cut",
        "https://{host}/404",
        "https://[",
    ],
)
def test_file_of_another_host_is_not_fetched(fetch, url):
    with pytest.raises(FetchError):
        fetch(url)


def test_file_at_a_private_address_is_not_fetched(fetch):
    with pytest.raises(FetchError):
        fetch("https://{host}/bytes-9", is_allowed=is_public)


PRIVATE = """
127.0.0.1 127.8.9.1 0.0.0.0 10.1.2.3 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1 192.0.2.1
224.0.0.1 240.0.0.1 255.255.255.255 :: ::1 fe80::1 fc00::1 fec0::1 ff02::1 2001:db8::1
::ffff:127.0.0.1 ::ffff:10.0.0.1 ::127.0.0.1 64:ff9b::7f00:1 64:ff9b:1::a00:1 2002:7f00:1::
2001:0:4136:e378:8000:63bf:80ff:fffe
"""


def test_private_address_is_not_connected_to():
    private = PRIVATE.split()
    assert [address for address in private if is_public(ip_address(address))] == []
    for address in ("1.1.1.1", "93.184.215.14", "2606:4700:4700::1111", "::ffff:1.1.1.1"):
        assert is_public(ip_address(address))


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "letters.test", "both.test", "mapped.test"]
)
def test_default_opener_rejects_every_notation_of_this_machine(names, site, host):
    names.records["both.test", "A"] = ["1.1.1.1", "127.0.0.1"]
    names.records["mapped.test", "AAAA"] = ["::ffff:127.0.0.1"]
    default_opener = LinkOpener(names.known())

    answer = default_opener.open(f"http://{host}:{site.port}/", deadline=in_time())

    assert answer.error is LinkError.NOT_PUBLIC
    assert site.requests == []


@pytest.mark.parametrize("onwards", ["http://127.0.0.2:{port}/", "//127.0.0.2:{port}/", "{inner}"])
def test_redirect_is_checked_like_a_link(here, opened, names, site, onwards):
    names.records["inner.test", "A"] = ["127.0.0.2"]
    onwards = onwards.format(port=site.port, inner=f"http://inner.test:{site.port}/")
    # In this test, 127.0.0.1 counts as public, and 127.0.0.2 as private.
    answer = opened(f"{here}/to?u={onwards}", is_allowed=lambda place: str(place) == "127.0.0.1")

    assert answer.error is LinkError.NOT_PUBLIC
    assert len(site.requests) == 1


@pytest.mark.parametrize(
    "onwards", ["http://[::1", "http://%255b/", "http://a%00b.test/", "//%00", "file:///etc/passwd"]
)
@pytest.mark.django_db
def test_redirect_to_nonsense_has_a_result_that_can_be_saved(here, opened, onwards):
    address = f"{here}/to?u={onwards}"

    answer = opened(address)
    cached_results.save(cached_results.LINK, {address: answer})

    assert answer.is_dead
    assert not onwards.startswith("file") or answer.error is LinkError.NOT_A_WEB_URL
    assert cached_results.load_fresh("", [address]).links == {address: answer}


def test_connection_goes_to_the_checked_address(here, opened, names, site):
    """A second look-up of the name could return an unchecked address (DNS rebinding)."""
    opened(f"{here}/")

    assert names.asked.count(("letters.test", "A")) == 1
    assert len(site.requests) == 1


@pytest.mark.parametrize("address", ["http://", "http://[::1", "http://a:b/", "ftp://a.test/", "x"])
def test_link_without_a_web_url_has_a_result(opened, address):
    answer = opened(address)

    assert answer.error is LinkError.NOT_A_WEB_URL


def test_at_most_40_links_are_opened_each_once(here, names, site):
    addresses = [f"{here}/page-{n}" for n in range(50)]

    found = open_links([*addresses, *addresses], opener(names))

    assert set(found) == set(addresses[:MAX_LINKS])
    assert len(site.requests) == MAX_LINKS


def test_opening_links_is_bounded_and_returns_partial_results(here, names, site):
    slow = [f"{here}/{n}/hang" for n in range(20)]

    found = open_links([f"{here}/404", *slow], opener(names), timeout_s=3.0)

    assert found[f"{here}/404"].status == 404
    assert {found[address].error for address in slow if address in found} <= {LinkError.TIMEOUT}
    # The dead link is requested twice. The first slow links use up the time, so the other slow
    # links are not opened.
    assert len(site.requests) <= 2 + CONCURRENCY


@pytest.mark.django_db
def test_latest_results_are_saved(names):
    address = "https://weatherbooks.example/1911"
    cached_results.save(cached_results.LINK, {address: LinkResult(status=404, url=address)})
    cached_results.save(cached_results.LINK, {address: LinkResult(status=200, url=address)})
    names.records = {(DOMAIN, "TXT"): [f'"{SPF}"']}
    found = look_up_domain(DOMAIN, names.known())
    cached_results.save(cached_results.DOMAIN, {DOMAIN: found})

    known = cached_results.load_fresh(DOMAIN, [address, "https://other.example/"])

    assert known.links == {address: LinkResult(status=200, url=address)}
    assert known.domain == found
    assert None not in (known.domain_at, known.links_at)


@pytest.mark.django_db
def test_results_expire_after_10_minutes_and_are_deleted_daily(names):
    cached_results.save(cached_results.DOMAIN, {DOMAIN: look_up_domain(DOMAIN, names.known())})
    cached_results.save(cached_results.LINK, {"https://a.example/": LinkResult(status=404)})
    ExternalCheck.objects.update(looked_at="2020-01-01T00:00Z")

    known = cached_results.load_fresh(DOMAIN, ["https://a.example/"])
    cached_results.save(cached_results.LINK, {"https://b.example/": LinkResult(status=200)})

    assert (known.domain, known.links, known.links_at) == (None, {}, None)
    assert [look.subject for look in ExternalCheck.objects.all()] == ["https://b.example/"]
