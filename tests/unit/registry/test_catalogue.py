import pytest

from antiphon.core.errors import ConfigError, ModelNotFound, ModelSourceError
from antiphon.registry.catalogue import Catalogue, CatalogueEntry, known_names


@pytest.fixture
def catalogue(tmp_path):
    return Catalogue(tmp_path / "data")


def test_entries_are_kept_in_order(catalogue, tmp_path):
    first = CatalogueEntry(name="b", source="file:/b.gguf", threads=2)
    second = CatalogueEntry(name="a", source="file:/a.gguf", adapters={"x": "file:/x"})
    catalogue.add(first)
    catalogue.add(second)
    assert Catalogue(tmp_path / "data").list() == (first, second)
    assert known_names(tmp_path / "data") == ("b", "a")
    assert catalogue.file.stat().st_mode & 0o077 == 0


def test_none_were_added(catalogue):
    assert catalogue.list() == ()
    assert catalogue.get("a") is None


def test_a_name_is_taken_once(catalogue):
    catalogue.add(CatalogueEntry(name="a", source="file:/a.gguf"))
    with pytest.raises(ConfigError, match="in the catalogue already") as caught:
        catalogue.add(CatalogueEntry(name="a", source="file:/b.gguf"))
    assert "antiphon models rm a" in caught.value.remedy


def test_names_are_checked(catalogue):
    with pytest.raises(ModelSourceError):
        catalogue.add(CatalogueEntry(name="../a", source="file:/a.gguf"))


def test_what_is_removed_is_gone(catalogue):
    entry = CatalogueEntry(name="a", source="file:/a.gguf")
    catalogue.add(entry)
    assert catalogue.remove("a") == entry
    assert catalogue.list() == ()
    with pytest.raises(ModelNotFound, match='"a" has not been added'):
        catalogue.remove("a")


@pytest.mark.parametrize("content", ["{", '{"models": 1}', "[" * 100_000])
def test_a_broken_file_is_named(catalogue, content):
    catalogue.file.parent.mkdir()
    catalogue.file.write_text(content)
    with pytest.raises(ConfigError) as caught:
        catalogue.list()
    assert str(catalogue.file) in str(caught.value)
    assert caught.value.remedy


BROKEN = '{"name": "bad"}, {"name": "odd", "source": "b", "colour": 1}, {"source": "file:/c.gguf"}'


def test_a_broken_entry_spoils_no_other(catalogue):
    catalogue.file.parent.mkdir()
    catalogue.file.write_text(f'{{"models": [{BROKEN}, {{"name": "good", "source": "file:/a.gguf"}}]}}')
    assert [entry.name for entry in catalogue.list()] == ["good"]
    assert [entry.name for entry in catalogue.broken()] == ["bad", "odd", ""]
    assert all(entry.reason for entry in catalogue.broken())
    assert known_names(catalogue.file.parent) == ("bad", "odd", "good")
    with pytest.raises(ConfigError, match="in the catalogue already"):
        catalogue.add(CatalogueEntry(name="bad", source="file:/a.gguf"))
    catalogue.add(CatalogueEntry(name="new", source="file:/a.gguf"))
    catalogue.remove("bad")
    assert [entry.name for entry in catalogue.all()] == ["odd", "", "good", "new"]
