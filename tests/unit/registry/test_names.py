import pytest

from antiphon.core.errors import ModelSourceError
from antiphon.registry.names import check_name, folder_name


@pytest.mark.parametrize("name", ["smollm2-135m-instruct", "org/model", "llama3:8b", "a", "A.b_c-d"])
def test_usual_names_are_taken(name):
    assert check_name(name) == name


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../x", "a/../b", "a//b", "/a", "a/", "-x", ".hidden", "a b", "a\\b", "a\0", "ä", "x" * 129, "a~b"]
)
def test_names_that_could_lead_astray_are_refused(name):
    with pytest.raises(ModelSourceError) as caught:
        check_name(name)
    assert caught.value.remedy


def test_a_folder_name_is_one_component_and_unique():
    folders = {folder_name(name) for name in ("a/b", "a:b", "a-b", "a.b", "a_b")}
    assert len(folders) == 5
    assert not any("/" in folder or folder.startswith(".") for folder in folders)
