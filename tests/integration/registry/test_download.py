"""Downloads against a real server that cuts, lies, redirects and refuses."""

import hashlib
import threading

import pytest

from antiphon.core.errors import ChecksumMismatch, DownloadFailed, ModelSourceError, NoSpace
from antiphon.registry import disk
from antiphon.registry.download import BearerAuth, Download, Downloader, DownloadLimits
from antiphon.registry.files import part_path
from tests.integration.registry.file_server import Behaviour, FileServer


@pytest.fixture
def target(tmp_path):
    return tmp_path / "model.gguf"


@pytest.fixture
def pauses():
    return []


@pytest.fixture
def downloader(pauses):
    with Downloader(DownloadLimits(silence=10, tries=4), sleep=pauses.append) as made:
        yield made


@pytest.fixture
def url(server, model):
    server.files["/model.gguf"] = model
    return f"{server.url}/model.gguf"


def only(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_arrives_whole_with_its_hash_and_progress(downloader, url, target, model, model_hash):
    told = []
    file = downloader.fetch(Download(url=url, target=target, sha256=model_hash, progress=lambda *args: told.append(args)))
    assert target.read_bytes() == model
    assert (file.path, file.size, file.sha256) == ("model.gguf", len(model), model_hash)
    assert told[-1] == (len(model), len(model), "model.gguf")
    assert only(target.parent) == ["model.gguf"]


def test_after_a_cut_only_the_rest_is_asked_for(downloader, server, url, target, model):
    server.plan.extend([Behaviour(cut=100_000), Behaviour(cut=50_000)])
    downloader.fetch(Download(url=url, target=target))
    assert target.read_bytes() == model
    assert [seen.headers.get("range") for seen in server.seen] == [None, "bytes=100000-", "bytes=150000-"]
    assert [seen.headers.get("if-range") for seen in server.seen] == [None, '"v1"', '"v1"']


def test_the_time_of_change_is_the_validator_where_there_is_no_strong_tag(downloader, server, url, target, model):
    time = "Mon, 02 Nov 2026 10:00:00 GMT"
    server.usual = Behaviour(etag='W/"weak"', modified=time)
    server.plan.append(Behaviour(etag='W/"weak"', modified=time, cut=1000))
    downloader.fetch(Download(url=url, target=target))
    assert target.read_bytes() == model
    assert server.seen[-1].headers["if-range"] == time
    assert server.seen[-1].status == 206


def test_a_later_process_goes_on_where_an_earlier_one_stopped(server, url, target, model):
    server.usual = Behaviour(cut=70_000)
    with (
        Downloader(DownloadLimits(tries=1), sleep=lambda _: None) as first,
        pytest.raises(DownloadFailed, match="70000 bytes are kept"),
    ):
        first.fetch(Download(url=url, target=target))
    assert not target.exists()
    server.usual = Behaviour()
    with Downloader() as second:
        second.fetch(Download(url=url, target=target))
    assert target.read_bytes() == model
    assert server.seen[-1].headers["range"] == "bytes=70000-"


def test_a_file_that_changed_in_between_is_fetched_anew(downloader, server, url, target, model):
    changed = b"GGUF" + bytes(1000)
    server.plan.append(Behaviour(cut=5000))
    server.usual = Behaviour(etag='"v2"', body=changed)
    downloader.fetch(Download(url=url, target=target))
    assert target.read_bytes() == changed
    assert server.seen[-1].status == 200


def test_a_server_that_ignores_ranges_starts_anew(downloader, server, url, target, model):
    server.plan.extend([Behaviour(cut=5000, ranges=False), Behaviour(ranges=False)])
    downloader.fetch(Download(url=url, target=target))
    assert target.read_bytes() == model


def test_a_server_that_always_cuts_at_the_same_place_is_given_up(downloader, server, url, target, pauses):
    server.usual = Behaviour(cut=5000, ranges=False)
    with pytest.raises(DownloadFailed, match="could not be downloaded"):
        downloader.fetch(Download(url=url, target=target))
    assert len(server.seen) == 4
    assert pauses == sorted(pauses)


def test_without_validator_and_hash_nothing_is_glued_together(downloader, server, url, target, model):
    server.plan.append(Behaviour(etag="", cut=5000))
    downloader.fetch(Download(url=url, target=target))
    assert target.read_bytes() == model
    assert "range" not in server.seen[-1].headers


def test_halves_that_do_not_fit_are_thrown_away_once(downloader, server, url, target, model, model_hash):
    part_path(target).write_bytes(b"GGUF of something else" * 10)
    downloader.fetch(Download(url=url, target=target, sha256=model_hash))
    assert target.read_bytes() == model
    assert [seen.status for seen in server.seen] == [206, 200]


def test_a_part_that_is_complete_is_not_fetched_again(downloader, server, url, target, model, model_hash):
    part_path(target).write_bytes(model)
    assert downloader.fetch(Download(url=url, target=target, sha256=model_hash)).size == len(model)
    assert [seen.status for seen in server.seen] == [416]
    assert only(target.parent) == ["model.gguf"]


def test_a_part_that_is_longer_than_the_file_is_thrown_away(downloader, url, target, model, model_hash):
    part_path(target).write_bytes(model + b"more")
    downloader.fetch(Download(url=url, target=target, sha256=model_hash))
    assert target.read_bytes() == model


def test_a_file_of_another_hash_is_refused_and_removed(downloader, url, target, model_hash):
    wanted = "0" * 64
    with pytest.raises(ChecksumMismatch) as caught:
        downloader.fetch(Download(url=url, target=target, sha256=wanted))
    assert wanted in str(caught.value)
    assert model_hash in str(caught.value)
    assert caught.value.remedy
    assert only(target.parent) == []


def test_a_page_instead_of_a_model_is_refused(downloader, server, url, target):
    server.usual = Behaviour(body=b"<!DOCTYPE html><title>Please sign in</title>")
    with pytest.raises(ModelSourceError, match="not a GGUF file"):
        downloader.fetch(Download(url=url, target=target))
    assert only(target.parent) == []


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_passing_troubles_are_waited_out(downloader, server, url, target, model, pauses, status):
    server.plan.append(Behaviour(status=status, headers={"Retry-After": "7"}))
    downloader.fetch(Download(url=url, target=target))
    assert target.read_bytes() == model
    assert pauses == [7.0]


def test_a_very_long_wait_is_not_obeyed(downloader, server, url, target, pauses):
    server.plan.append(Behaviour(status=503, headers={"Retry-After": "86400"}))
    downloader.fetch(Download(url=url, target=target))
    assert pauses == [15.0]


@pytest.mark.parametrize(("status", "remedy"), [(404, "check the address"), (401, "set a token"), (403, "set a token")])
def test_lasting_troubles_are_told_at_once(downloader, server, url, target, status, remedy):
    server.usual = Behaviour(status=status)
    with pytest.raises(DownloadFailed, match=str(status)) as caught:
        downloader.fetch(Download(url=url, target=target, denied="set a token"))
    assert caught.value.remedy == remedy
    assert len(server.seen) == 1


def test_a_silent_server_is_asked_again(server, url, target, model):
    never = threading.Event()
    server.plan.append(Behaviour(cut=1000, hold=never))
    with Downloader(DownloadLimits(silence=0.3), sleep=lambda _: None) as downloader:
        downloader.fetch(Download(url=url, target=target))
    never.set()
    assert target.read_bytes() == model
    assert server.seen[-1].headers["range"] == "bytes=1000-"


def test_a_file_without_a_length_needs_a_hash(downloader, server, url, target, model, model_hash):
    server.usual = Behaviour(length=False)
    with pytest.raises(DownloadFailed, match="does not say how long it is"):
        downloader.fetch(Download(url=url, target=target))
    downloader.fetch(Download(url=url, target=target, sha256=model_hash))
    assert target.read_bytes() == model


def test_compressed_answers_are_refused(downloader, server, url, target):
    server.usual = Behaviour(headers={"Content-Encoding": "gzip"})
    with pytest.raises(DownloadFailed, match="compressed"):
        downloader.fetch(Download(url=url, target=target))


def test_redirects_are_followed_and_the_token_stays_behind(downloader, server, target, model):
    with FileServer() as mirror:
        mirror.files["/blob"] = model
        server.plan.append(Behaviour(status=302, headers={"Location": "/second"}))
        server.plan.append(Behaviour(status=307, headers={"Location": f"{mirror.url}/blob?signature=x"}))
        auth = BearerAuth("hf_secret", server.url)
        downloader.fetch(Download(url=f"{server.url}/first", target=target, auth=auth))
        assert [seen.headers.get("authorization") for seen in server.seen] == ["Bearer hf_secret", "Bearer hf_secret"]
        assert [seen.headers.get("authorization") for seen in mirror.seen] == [None]
    assert target.read_bytes() == model
    assert "hf_secret" not in repr(auth)


def test_a_circle_of_redirects_ends(downloader, server, url, target):
    server.usual = Behaviour(status=302, headers={"Location": "/model.gguf"})
    with pytest.raises(DownloadFailed, match="redirects more than 10 times"):
        downloader.fetch(Download(url=url, target=target))


@pytest.mark.parametrize("place", ["http://models.example/x.gguf", "ftp://models.example/x.gguf", "file:///etc/passwd"])
def test_redirects_to_where_the_file_could_be_changed_are_refused(downloader, server, url, target, place):
    server.usual = Behaviour(status=302, headers={"Location": place})
    with pytest.raises(ModelSourceError):
        downloader.fetch(Download(url=url, target=target))


def test_a_signature_in_an_address_is_not_shown(downloader, server, target):
    with pytest.raises(DownloadFailed) as caught:
        downloader.fetch(Download(url=f"{server.url}/none.gguf?signature=hush", target=target))
    assert "hush" not in str(caught.value)


def test_nobody_listening_is_told_after_the_tries(downloader, server, target, pauses):
    with FileServer() as gone:
        url = gone.url
    with pytest.raises(DownloadFailed, match="refused"):
        downloader.fetch(Download(url=f"{url}/model.gguf", target=target))
    assert len(pauses) == 3


def test_a_full_disk_is_noticed_before_the_first_byte(downloader, url, target, model, monkeypatch):
    monkeypatch.setattr(disk, "free_bytes", lambda path: 1234)
    with pytest.raises(NoSpace, match=f"{len(model)} bytes needed, 1234 bytes free") as caught:
        downloader.fetch(Download(url=url, target=target))
    assert str(target) in str(caught.value)
    assert "cache_dir" in caught.value.remedy


def test_a_document_is_read_with_retries_and_a_limit(downloader, server):
    server.files["/list"] = b"[1]"
    server.plan.append(Behaviour(status=502))
    assert downloader.read(f"{server.url}/list", None, "") == b"[1]"
    with pytest.raises(DownloadFailed, match="larger than 2 bytes"):
        downloader.read(f"{server.url}/list", None, "", most=2)


def test_a_whole_file_of_an_earlier_try_is_kept_if_its_hash_is_known(downloader, server, url, target, model):
    target.write_bytes(model)
    downloader.fetch(Download(url=url, target=target, sha256=hashlib.sha256(model).hexdigest()))
    assert server.seen == []
    downloader.fetch(Download(url=url, target=target))
    assert len(server.seen) == 1


def test_https_with_a_certificate_of_ones_own(downloader, secure_server, trusted, target, model):
    secure_server.files["/model.gguf"] = model
    downloader.fetch(Download(url=f"{secure_server.url}/model.gguf", target=target))
    assert target.read_bytes() == model


def test_a_certificate_that_nobody_vouches_for_is_refused_at_once(downloader, secure_server, target, pauses):
    with pytest.raises(DownloadFailed, match="certificate") as caught:
        downloader.fetch(Download(url=f"{secure_server.url}/model.gguf", target=target))
    assert "SSL_CERT_FILE" in caught.value.remedy
    assert pauses == []
