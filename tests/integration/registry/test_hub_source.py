"""``hf:`` against a small hub of our own, over real HTTP."""

import hashlib
import json
import os

import pytest

from antiphon.core.errors import ChecksumMismatch, DownloadFailed, ModelSourceError
from antiphon.registry.store import Store
from tests.integration.registry.file_server import Behaviour, FileServer

COMMIT = "1f" * 20


class Hub:
    def __init__(self, server: FileServer) -> None:
        self.server = server

    def publish(self, files: dict[str, bytes], revision: str = "main", large: tuple[str, ...] = (), commit: str = COMMIT) -> None:
        siblings = []
        for name, content in files.items():
            self.server.files[f"/org/repo/resolve/{commit}/{name}"] = content
            lfs = {"lfs": {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content)}} if name in large else {}
            siblings.append({"rfilename": name, "size": len(content), "blobId": "x", **lfs})
        listing = json.dumps({"id": "org/repo", "sha": commit, "siblings": siblings}).encode()
        self.server.files[f"/api/models/org/repo/revision/{revision}"] = listing


@pytest.fixture
def hub(server):
    return Hub(server)


@pytest.fixture
def store(tmp_path, server):
    return Store(tmp_path, {**os.environ, "HF_ENDPOINT": f"{server.url}/", "HF_TOKEN": "hf_hush"})


def test_one_file_of_a_repository(store, hub, model, model_hash):
    hub.publish({"q/tiny.gguf": model, "README.md": b"read me"}, large=("q/tiny.gguf",))
    stored = store.fetch("tiny", "hf:org/repo#q/tiny.gguf")
    assert stored.path.read_bytes() == model
    assert stored.sha256 == model_hash
    assert stored.path.parent.name == "q"


def test_a_whole_repository_with_what_belongs_to_the_model(store, hub, server):
    files = {
        name: name.encode()
        for name in ("openvino_model.xml", "openvino_model.bin", "tokenizer.json", "pytorch_model.bin", "a b.json")
    }
    hub.publish(files, revision="v1.0")
    stored = store.fetch("ir", "hf:org/repo@v1.0")
    assert [file.path for file in stored.files] == ["a b.json", "openvino_model.bin", "openvino_model.xml", "tokenizer.json"]
    assert stored.path.is_dir()
    assert not any("pytorch" in seen.path for seen in server.seen)
    assert all(f"/{COMMIT}/" in seen.path for seen in server.seen[1:])


def test_the_only_gguf_of_a_repository_needs_no_name(store, hub, model):
    hub.publish({"tiny.gguf": model, "config.json": b"{}"})
    assert store.fetch("tiny", "hf:org/repo").path.read_bytes() == model


def test_the_token_goes_to_the_hub_and_not_to_where_it_leads(store, hub, server, model):
    hub.publish({"tiny.gguf": model}, large=("tiny.gguf",))
    with FileServer() as storage:
        storage.files["/blob"] = model
        server.plan.extend([Behaviour(), Behaviour(status=302, headers={"Location": f"{storage.url}/blob?X-Amz-Signature=hush"})])
        stored = store.fetch("tiny", "hf:org/repo#tiny.gguf")
        assert "authorization" not in storage.seen[0].headers
    assert {seen.headers["authorization"] for seen in server.seen} == {"Bearer hf_hush"}
    assert stored.path.read_bytes() == model
    for path in store.root.rglob("*"):
        assert not path.is_file() or b"hf_hush" not in path.read_bytes()


def test_without_a_token_none_is_sent(tmp_path, hub, server, model):
    hub.publish({"tiny.gguf": model})
    Store(tmp_path, {"HF_ENDPOINT": server.url}).fetch("tiny", "hf:org/repo#tiny.gguf")
    assert not any("authorization" in seen.headers for seen in server.seen)


def test_the_hash_that_the_hub_states_is_checked(store, hub, server, model):
    hub.publish({"tiny.gguf": model}, large=("tiny.gguf",))
    server.files[f"/org/repo/resolve/{COMMIT}/tiny.gguf"] = b"GGUF something else"
    with pytest.raises(ChecksumMismatch, match=hashlib.sha256(model).hexdigest()):
        store.fetch("tiny", "hf:org/repo#tiny.gguf")


def test_a_moved_branch_is_noticed(store, hub, model):
    hub.publish({"tiny.gguf": model})
    store.fetch("tiny", "hf:org/repo")
    hub.publish({"tiny.gguf": b"GGUF new"}, commit="2e" * 20)
    with pytest.raises(ChecksumMismatch) as caught:
        store.fetch("tiny", "hf:org/repo", anew=True)
    assert "models rm tiny" in caught.value.remedy
    assert store.get("tiny").path.read_bytes() == model


@pytest.mark.parametrize("status", [401, 403])
def test_a_repository_that_is_closed_says_how_to_open_it(store, tmp_path, server, status):
    server.usual = Behaviour(status=status)
    with pytest.raises(DownloadFailed) as caught:
        store.fetch("tiny", "hf:org/repo")
    assert "licence" in caught.value.remedy
    with pytest.raises(DownloadFailed) as caught:
        Store(tmp_path, {"HF_ENDPOINT": server.url}).fetch("tiny", "hf:org/repo")
    assert "HF_TOKEN" in caught.value.remedy
    assert "hf_hush" not in str(caught.value)


def test_a_file_that_is_not_in_the_repository_is_named_with_those_that_are(store, hub, model):
    hub.publish({"tiny.gguf": model})
    with pytest.raises(DownloadFailed, match="not in the repository") as caught:
        store.fetch("tiny", "hf:org/repo#other.gguf")
    assert "tiny.gguf" in caught.value.remedy


def test_names_that_lead_out_of_the_folder_are_refused(store, hub, tmp_path, model):
    hub.publish({"../../../escaped.gguf": model})
    with pytest.raises(ModelSourceError, match="is not the path of a file inside"):
        store.fetch("tiny", "hf:org/repo")
    assert list(tmp_path.rglob("escaped*")) == []


def test_what_is_no_hub_is_told(store, server):
    server.files["/api/models/org/repo/revision/main"] = b"<html>welcome</html>"
    with pytest.raises(DownloadFailed, match="not a list of files") as caught:
        store.fetch("tiny", "hf:org/repo")
    assert "HF_ENDPOINT" in caught.value.remedy


def test_a_hub_address_without_encryption_is_refused(tmp_path):
    with pytest.raises(ModelSourceError, match="not encrypted"):
        Store(tmp_path, {"HF_ENDPOINT": "http://mirror.example"}).fetch("tiny", "hf:org/repo")
