"""The server knows its site and nothing else, and answers to loopback names only."""

import http.client
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from unbraid.errors import UsageError
from unbraid.report.explorer import LoopbackServer
from unbraid.report.explorer import server as server_module


class Pages:
    """A site of two files."""

    def __init__(self):
        self.files = {"index.html": b"<p>home", "assets/explorer.css": b"p{}"}

    def paths(self):
        return iter(self.files)

    def get(self, path):
        return self.files.get(path)


def ask(server, path, *, method="GET", host=None):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    connection.putrequest(method, path, skip_host=True)
    connection.putheader("Host", f"127.0.0.1:{server.server_port}" if host is None else host)
    connection.endheaders()
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, content, answer


def test_known_files_come_with_their_type_and_a_policy(serving):
    server = serving(Pages())
    status, content, answer = ask(server, "/")
    assert (status, content) == (200, b"<p>home")
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "default-src 'self'" in answer.headers["Content-Security-Policy"]
    assert ask(server, "/assets/explorer.css?v=1")[:2] == (200, b"p{}")
    assert ask(server, "/index.html", method="HEAD")[:2] == (200, b"")


@pytest.mark.parametrize(
    "path",
    [
        "/unknown.html", "/assets/", "/assets/../index.html", "/../index.html", "/..%2f..%2fetc/passwd", "//etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd", "/assets/%00", "/etc/passwd", "/run.json", "/assets\\..\\index.html",
    ],
)  # fmt: skip
def test_unknown_files_and_paths_outside_are_refused(serving, path):
    assert ask(serving(Pages()), path)[0] == 404


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "", "192.168.0.1:{port}"]
)
def test_requests_for_other_hosts_are_refused(serving, host):
    server = serving(Pages())
    status, content, _ = ask(server, "/", host=host.format(port=server.server_port))
    assert status == 421
    assert b"home" not in content


def test_localhost_is_a_loopback_name_too(serving):
    server = serving(Pages())
    assert ask(server, "/", host=f"localhost:{server.server_port}")[0] == 200
    assert ask(server, "/", host=f"LocalHost:{server.server_port}")[0] == 200


def test_what_is_no_address_and_what_fails_is_answered_in_words(serving):
    class Failing(Pages):
        def get(self, path):
            return 1 / 0 if path == "study.js" else super().get(path)

    server = serving(Failing())
    assert ask(server, "http://[")[0] == 400
    assert ask(server, "/study.js")[:2] == (500, b"ZeroDivisionError: division by zero\n")
    assert ask(server, "/" + 70_000 * "a")[0] == 414
    assert ask(server, "/")[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_nothing_can_be_sent_to_it(serving, method):
    assert ask(serving(Pages()), "/", method=method)[0] == 501


def test_it_listens_on_loopback_only(serving):
    server = serving(Pages())
    assert server.server_address[0] == "127.0.0.1"
    assert server.url == f"http://127.0.0.1:{server.server_port}/"


def test_a_port_in_use_is_named(serving):
    with pytest.raises(UsageError, match="cannot be used"):
        LoopbackServer(Pages(), serving(Pages()).server_port)
    with pytest.raises(UsageError, match="port must lie"):
        LoopbackServer(Pages(), 70_000)


def test_two_hosts_in_one_request_are_refused(serving):
    server = serving(Pages())
    name = f"127.0.0.1:{server.server_port}"
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=10) as client:
        client.sendall(f"GET / HTTP/1.1\r\nHost: {name}\r\nHost: evil.example\r\n\r\n".encode())
        assert client.recv(64).startswith(b"HTTP/1.1 400 ")


def test_a_connection_that_says_nothing_is_closed(serving, monkeypatch):
    monkeypatch.setattr(server_module._Handler, "timeout", 0.2)
    server = serving(Pages())
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=10) as client:
        assert client.recv(1) == b""  # the end, instead of waiting for ever


def test_two_hundred_clients_at_once_are_all_served_by_few_threads(serving):
    class Slow(Pages):
        most = 0

        def get(self, path):
            Slow.most = max(Slow.most, threading.active_count())
            time.sleep(0.01)
            return super().get(path)

    server = serving(Slow())
    before = threading.active_count()
    with ThreadPoolExecutor(200) as clients:
        found = list(clients.map(lambda _: ask(server, "/")[0], range(200)))
    assert found == 200 * [200]
    assert Slow.most <= before + 200 + server_module.THREADS  # the clients' own threads among them


def test_a_page_that_takes_long_does_not_hold_up_the_others(serving):
    release = threading.Event()

    class Waiting(Pages):
        def get(self, path):
            if path == "study.js":
                release.wait(10)
            return super().get(path)

    server = serving(Waiting())
    slow = threading.Thread(target=ask, args=(server, "/study.js"))
    slow.start()
    assert ask(server, "/")[0] == 200  # would time out behind a lock
    release.set()
    slow.join()
