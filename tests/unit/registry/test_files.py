import hashlib
import subprocess

import pytest

from antiphon.core.errors import ChecksumMismatch, ModelSourceError
from antiphon.registry.files import (
    ModelFile,
    PartFile,
    check_model_file,
    check_sha256,
    combined_sha256,
    safe_path,
    select_model_files,
    sha256_of,
)
from antiphon.registry.progress import silent

IR = [
    "openvino_model.xml",
    "openvino_model.bin",
    "openvino_tokenizer.xml",
    "openvino_tokenizer.bin",
    "config.json",
    "chat_template.jinja",
]


@pytest.mark.parametrize(
    "path", ["../x.gguf", "/x.gguf", "a/../../x.gguf", "a//x", "C:/x.gguf", "a\\..\\x.gguf", ".", "", "./x", "x\0.gguf"]
)
def test_paths_that_lead_out_of_a_folder_are_refused(path):
    with pytest.raises(ModelSourceError):
        safe_path(path)


@pytest.mark.parametrize("path", ["model.pkl", "pytorch_model.bin", "a/model.pt", "model.PTH", "model.ckpt"])
def test_pickles_are_refused_by_name(path):
    with pytest.raises(ModelSourceError, match="pickle") as caught:
        check_model_file(path)
    assert "gguf" in caught.value.remedy


@pytest.mark.parametrize("path", ["README.md", "model", "run.sh", "model.safetensors"])
def test_what_is_no_model_is_refused(path):
    with pytest.raises(ModelSourceError, match="not a model"):
        check_model_file(path)


def test_a_folder_with_ir_gives_its_pairs_and_companions_only():
    others = ["README.md", "pytorch_model.bin", "evil.pkl", ".gitattributes", "graph.xml"]
    assert select_model_files([*IR, *others], "place") == tuple(sorted(IR))


def test_a_folder_with_one_gguf_gives_that():
    assert select_model_files(["README.md", "a.Q4.gguf", "config.json"], "place") == ("a.Q4.gguf",)


def test_a_split_gguf_is_one_model_if_it_is_complete():
    parts = [f"m-0000{n}-of-00003.gguf" for n in (1, 2, 3)]
    assert select_model_files(parts, "place") == tuple(parts)
    with pytest.raises(ModelSourceError, match="2 models"):
        select_model_files(parts[:2], "place")


def test_several_models_are_refused_with_their_names():
    with pytest.raises(ModelSourceError, match=r"a\.gguf, b\.gguf") as caught:
        select_model_files(["a.gguf", "b.gguf"], "hf:org/repo")
    assert "#" in caught.value.remedy


def test_nothing_but_pickles_is_refused_for_that():
    with pytest.raises(ModelSourceError, match=r"pytorch_model\.bin may be pickles"):
        select_model_files(["pytorch_model.bin", "config.json"], "hf:org/repo")


def test_a_folder_without_a_model_is_refused():
    with pytest.raises(ModelSourceError, match="holds no model"):
        select_model_files(["README.md"], "here")


def test_a_mismatch_names_both_hashes():
    with pytest.raises(ChecksumMismatch, match="aa") as caught:
        check_sha256("m", "BB", "aa")
    assert "bb" in caught.value.message
    check_sha256("m", "", "aa")
    check_sha256("m", "AA", "aa")


def test_the_hash_of_several_files_is_what_sha256sum_would_give(tmp_path):
    for name in ("b.xml", "a.bin"):
        (tmp_path / name).write_text(name)
    files = [ModelFile(path=name, size=5, sha256=sha256_of(tmp_path / name, silent, "")) for name in ("b.xml", "a.bin")]
    printed = subprocess.run(["sha256sum", "a.bin", "b.xml"], cwd=tmp_path, capture_output=True, check=True).stdout
    assert combined_sha256(files) == hashlib.sha256(printed).hexdigest()
    assert combined_sha256(files[:1]) == files[0].sha256


def test_a_part_keeps_only_what_it_is_told_to(tmp_path):
    target = tmp_path / "deep" / "m.gguf"
    with PartFile(target, total=8) as part:
        part.write(b"GGUF4567")
    with PartFile(target, total=8, keep=6) as part:
        assert part.size == 6
        part.write(b"xy")
        file = part.finish("m.gguf", "")
    assert target.read_bytes() == b"GGUF45xy"
    assert file.sha256 == hashlib.sha256(b"GGUF45xy").hexdigest()
    assert [path.name for path in target.parent.iterdir()] == ["m.gguf"]
