import hashlib
import random

import pytest

from tests.integration.registry.file_server import FileServer, make_certificate


@pytest.fixture
def server():
    with FileServer() as running:
        yield running


@pytest.fixture(scope="session")
def model():
    """What passes for a small GGUF file: 300,000 bytes."""
    return b"GGUF" + random.Random(7).randbytes(299_996)


@pytest.fixture(scope="session")
def model_hash(model):
    return hashlib.sha256(model).hexdigest()


@pytest.fixture(scope="session")
def certificate(need, tmp_path_factory):
    return make_certificate(need.program("openssl"), tmp_path_factory.mktemp("certificate"))


@pytest.fixture
def secure_server(certificate):
    with FileServer(certificate) as running:
        yield running


@pytest.fixture
def trusted(certificate, monkeypatch):
    """This process trusts the certificate of ``secure_server``."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
