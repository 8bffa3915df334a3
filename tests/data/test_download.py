"""Downloads against a real server on loopback that misbehaves in every way we know."""

import gzip
import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from unbraid.data.files import catalogue, download
from unbraid.data.files.catalogue import RemoteFile, Source
from unbraid.data.files.download import DownloadError, fetch, get
from unbraid.errors import UsageError

CONTENT = np.random.default_rng(0).bytes(1_000_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Server(ThreadingHTTPServer):
    """Serves ``content``; remembers the ranges it was asked for."""

    daemon_threads = True
    content = CONTENT
    etag = '"v1"'
    ranges = True
    claimed: int | None = None
    """The length it pretends the file to have."""
    drop_after: list[int]
    """For each of the first requests, after how many bytes to hang up."""
    status: list[int]
    """For each of the first requests, the status to answer with instead."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[str | None] = []
        self.drop_after, self.status = [], []

    def handle_error(self, *_: object) -> None:
        """A client that hangs up early is no news here."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/file.bin"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        server, wanted = self.server, self.headers["Range"]
        server.asked.append(wanted)
        if server.status:
            status = server.status.pop(0)
            if status != 200:
                self.send_error(status)
                return
        start = 0
        same = self.headers["If-Range"] in (None, server.etag)
        if wanted and server.ranges and same:
            start = int(wanted.removeprefix("bytes=").rstrip("-"))
            if start >= len(server.content):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(server.content)}")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(server.content) - 1}/{len(server.content)}")
        else:
            self.send_response(200)
        body = server.content[start:]
        self.send_header("Content-Length", str(server.claimed or len(body)))
        self.send_header("ETag", server.etag)
        self.end_headers()
        self.wfile.write(body[: server.drop_after.pop(0)] if server.drop_after else body)
        self.close_connection = True


@contextmanager
def serving() -> Iterator[Server]:
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


def test_a_whole_file_arrives_verified_and_alone(server, tmp_path):
    told: list[tuple[int, int | None]] = []
    path = fetch(
        server.url, tmp_path / "new" / "file.bin", sha256=SHA256, size=len(CONTENT), progress=lambda *x: told.append(x)
    )
    assert path.read_bytes() == CONTENT
    assert [p.name for p in path.parent.iterdir()] == ["file.bin"]
    assert told[-1] == (1_000_000, 1_000_000)


def test_a_dropped_connection_goes_on_where_it_was(server, tmp_path):
    server.drop_after = [400_000, 200_000]
    path = fetch(server.url, tmp_path / "file.bin", sha256=SHA256, wait=0)
    assert path.read_bytes() == CONTENT
    # 400,000 bytes came, then 200,000 more: each request asks only for the rest.
    assert server.asked == [None, "bytes=400000-", "bytes=600000-"]


def test_a_later_call_takes_up_what_an_earlier_one_left(server, tmp_path):
    server.drop_after = [300_000]
    with pytest.raises(DownloadError, match=r"300,000 bytes are kept in .*the same command goes on"):
        fetch(server.url, tmp_path / "file.bin", sha256=SHA256, tries=1)
    assert not (tmp_path / "file.bin").exists()
    fetch(server.url, tmp_path / "file.bin", sha256=SHA256)
    assert server.asked == [None, "bytes=300000-"]
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


def test_a_server_that_ignores_ranges_starts_over(server, tmp_path):
    server.ranges = False
    server.drop_after = [400_000]
    assert fetch(server.url, tmp_path / "file.bin", sha256=SHA256, wait=0).read_bytes() == CONTENT


def test_a_file_that_changed_in_between_is_fetched_from_the_start(server, tmp_path):
    server.drop_after = [300_000]
    with pytest.raises(DownloadError):
        fetch(server.url, tmp_path / "file.bin", tries=1)
    server.content, server.etag = CONTENT[::-1], '"v2"'
    assert fetch(server.url, tmp_path / "file.bin").read_bytes() == CONTENT[::-1]


def test_a_changed_length_is_noticed_without_an_etag(server, tmp_path):
    server.etag = 'W/"weak"'
    server.drop_after = [300_000]
    with pytest.raises(DownloadError):
        fetch(server.url, tmp_path / "file.bin", tries=1)
    server.content = CONTENT[::-1][:900_000]
    assert fetch(server.url, tmp_path / "file.bin", wait=0).read_bytes() == CONTENT[::-1][:900_000]


def test_a_part_that_is_whole_already_is_only_renamed(server, tmp_path):
    server.drop_after = [300_000]
    with pytest.raises(DownloadError):
        fetch(server.url, tmp_path / "file.bin", tries=1)
    (tmp_path / "file.bin.part").write_bytes(CONTENT)
    assert fetch(server.url, tmp_path / "file.bin", sha256=SHA256).read_bytes() == CONTENT
    assert server.asked[-1] == "bytes=1000000-"


def test_the_half_of_another_address_is_not_continued(server, tmp_path):
    server.drop_after = [300_000]
    with pytest.raises(DownloadError):
        fetch(server.url, tmp_path / "file.bin", tries=1)
    fetch(f"{server.url}?mirror", tmp_path / "file.bin", sha256=SHA256)
    assert server.asked == [None, None]


def test_a_spoilt_half_is_thrown_away_and_fetched_anew(server, tmp_path):
    server.drop_after = [300_000]
    with pytest.raises(DownloadError):
        fetch(server.url, tmp_path / "file.bin", tries=1)
    (tmp_path / "file.bin.part").write_bytes(bytes(300_000))
    assert fetch(server.url, tmp_path / "file.bin", sha256=SHA256).read_bytes() == CONTENT
    assert server.asked == [None, "bytes=300000-", None]


def test_a_corrupted_file_names_both_hashes_and_leaves_nothing(server, tmp_path):
    server.content = CONTENT[:500_000] + b"x" + CONTENT[500_001:]
    actual = hashlib.sha256(server.content).hexdigest()
    with pytest.raises(DownloadError) as caught:
        fetch(server.url, tmp_path / "file.bin", sha256=SHA256)
    message = str(caught.value)
    assert str(tmp_path / "file.bin") in message
    assert SHA256 in message
    assert actual in message
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_length_is_refused_before_it_is_fetched(server, tmp_path):
    with pytest.raises(DownloadError, match="it has 1,000,000 bytes, expected 999,999"):
        fetch(server.url, tmp_path / "file.bin", size=999_999)
    assert list(tmp_path.iterdir()) == []


def test_the_checksum_may_be_that_of_the_decompressed_bytes(server, tmp_path):
    for level in (1, 9):
        server.content = gzip.compress(CONTENT, level)
        fetch(server.url, tmp_path / f"{level}.gz", sha256=SHA256, unpacked=True)
    server.content = server.content[:-100]
    with pytest.raises(DownloadError, match="does not decompress"):
        fetch(server.url, tmp_path / "cut.gz", sha256=SHA256, unpacked=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["1.gz", "9.gz"]


def test_md5_is_checked_where_it_is_all_there_is(server, tmp_path):
    fetch(server.url, tmp_path / "good", md5=hashlib.md5(CONTENT).hexdigest())
    with pytest.raises(DownloadError, match="expected md5 00"):
        fetch(server.url, tmp_path / "bad", md5="0" * 32)


def test_a_missing_page_fails_at_once(server, tmp_path):
    server.status = [404]
    with pytest.raises(DownloadError, match="404"):
        fetch(server.url, tmp_path / "file.bin")
    assert server.asked == [None]
    assert list(tmp_path.iterdir()) == []


def test_a_busy_server_is_asked_again(server, tmp_path):
    server.status = [503, 429]
    assert fetch(server.url, tmp_path / "file.bin", sha256=SHA256, wait=0).read_bytes() == CONTENT


def test_a_server_that_refuses_is_named(tmp_path):
    with serving() as server:
        url = server.url
    with pytest.raises(DownloadError, match=r"could not download .*refused, 2 times in a row"):
        fetch(url, tmp_path / "file.bin", tries=2, wait=0)
    assert list(tmp_path.iterdir()) == []


def test_too_little_room_is_noticed_before_anything_is_written(server, tmp_path):
    server.claimed = 10**18
    with pytest.raises(DownloadError, match=r"no room for .*1,000,000,000,000 MB are to come"):
        fetch(server.url, tmp_path / "file.bin")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_is_named(server, tmp_path, monkeypatch):
    with Path("/dev/full").open("ab") as full:  # every write to it fails as on a full disk
        monkeypatch.setattr("unbraid.data.files.download.open_append", lambda _: full)
        with pytest.raises(DownloadError, match=r"cannot write .*No space left.*free some space"):
            fetch(server.url, tmp_path / "file.bin")
    assert not (tmp_path / "file.bin").exists()


def test_a_folder_that_cannot_be_made_is_named(server, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DownloadError, match=r"cannot write .*file/deeper/x"):
        fetch(server.url, tmp_path / "file" / "deeper" / "x")


def test_two_processes_do_not_write_the_same_file(server, tmp_path):
    import fcntl

    with (tmp_path / "file.bin.part").open("ab") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(UsageError, match="another process is downloading"):
            fetch(server.url, tmp_path / "file.bin")


@pytest.fixture
def offered(server, monkeypatch, tmp_path):
    """A data set in the catalogue whose first address is dead."""
    with serving() as gone:
        dead = gone.url
    files = (RemoteFile("toy/a.bin", (dead, server.url), SHA256), RemoteFile("toy/b.bin", (server.url,)))
    monkeypatch.setitem(catalogue.SOURCES, "toy", Source("Toy", "http://home.example", "MIT", "", files))
    monkeypatch.setenv("UNBRAID_DATA", str(tmp_path))
    monkeypatch.setattr(download, "fetch", lambda *a, **k: fetch(*a, **{**k, "wait": 0, "tries": 1}))
    return tmp_path


def test_get_tries_the_next_address_and_fetches_nothing_twice(server, offered):
    assert get("toy", quiet=True) == [offered / "toy" / "a.bin", offered / "toy" / "b.bin"]
    assert len(server.asked) == 2
    get("toy", quiet=True)
    assert len(server.asked) == 2


def test_a_file_without_a_known_checksum_keeps_its_first_one(offered):
    get("toy", quiet=True)
    assert (offered / "toy" / "b.bin.sha256").read_text() == f"{SHA256}  b.bin\n"
    (offered / "toy" / "b.bin").write_bytes(b"changed")
    with pytest.raises(DownloadError, match=f"expected sha256 {SHA256}"):
        get("toy", quiet=True)


def test_when_all_addresses_are_dead_the_error_says_what_to_do(server, offered):
    server.status = [404]
    with pytest.raises(DownloadError) as caught:
        get("toy", quiet=True)
    message = str(caught.value)
    assert "could not download a.bin of data set 'toy'" in message
    assert "get it from: http://home.example" in message
    assert f"put it at:   {offered / 'toy' / 'a.bin'}" in message


@pytest.mark.usefixtures("offered")
def test_without_a_terminal_progress_is_a_plain_line(capsys):
    get("toy")
    assert "a.bin: 1.0/1.0 MB (100%)" in capsys.readouterr().err


def test_an_unknown_name_gets_the_nearest():
    with pytest.raises(UsageError, match="did you mean 'shapes3d'"):
        get("shapes3")


@pytest.mark.parametrize("name", sorted(catalogue.SOURCES))
def test_the_table_is_well_formed(name):
    for file in catalogue.source(name).files:
        assert file.sha256 is None or len(bytes.fromhex(file.sha256)) == 32
        assert file.md5 is None or len(bytes.fromhex(file.md5)) == 16
        assert all(url.startswith(("http://", "https://")) for url in file.urls)
        assert not file.path.startswith("/")
