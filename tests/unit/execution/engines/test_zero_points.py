import struct
from pathlib import Path

import numpy as np
import pytest

from antiphon.execution.engines._openvino import op, openvino
from antiphon.execution.engines._openvino_zero_points import restore_zero_points
from tests.unit.execution.engines.gguf_files import write_gguf

ROWS, COLUMNS = 6, 512


def half(value: float) -> float:
    return float(np.float16(value))


def q4_1(rng: np.random.Generator) -> tuple[bytes, np.ndarray]:
    """Blocks of 32 as their definition says: float16 scale, float16 bias, 16 bytes with the second half in the upper nibbles."""
    data, weights = b"", np.zeros(ROWS * COLUMNS, np.float32)
    for block in range(ROWS * COLUMNS // 32):
        scale, bias = half(rng.uniform(0.001, 0.1)), half(rng.uniform(-1, 0.1))
        if block == 7:
            scale, q = 0.0, np.zeros(32, np.uint8)
        else:
            q = rng.integers(0, 16, 32).astype(np.uint8)
        data += struct.pack("<ee", scale, bias) + (q[:16] | (q[16:] << 4)).tobytes()
        weights[block * 32 : block * 32 + 32] = scale * q + bias
    return data, weights.reshape(ROWS, COLUMNS)


def q4_k(rng: np.random.Generator) -> tuple[bytes, np.ndarray]:
    """Blocks of 256 in 8 groups: weight = d * scale * q - dmin * minimum, scales and minima of 6 bits."""
    data, weights = b"", []
    for _ in range(ROWS * COLUMNS // 256):
        d, dmin = half(rng.uniform(0.0005, 0.002)), half(rng.uniform(0.001, 0.02))
        scales, minima = rng.integers(1, 64, 8), rng.integers(0, 64, 8)
        q = rng.integers(0, 16, (8, 32)).astype(np.uint8)
        packed = bytearray(12)
        for j in range(4):
            packed[j] = int(scales[j] & 63 | (scales[j + 4] >> 4) << 6)
            packed[j + 4] = int(minima[j] & 63 | (minima[j + 4] >> 4) << 6)
            packed[j + 8] = int(scales[j + 4] & 15 | (minima[j + 4] & 15) << 4)
        data += struct.pack("<ee", d, dmin) + bytes(packed)
        data += b"".join((q[pair] | (q[pair + 1] << 4)).tobytes() for pair in (0, 2, 4, 6))
        weights += [d * scales[j] * q[j].astype(np.float32) - dmin * minima[j] for j in range(8)]
    return data, np.concatenate(weights).reshape(ROWS, COLUMNS)


def nibbles(kind: int, data: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Quants and scales as the library's converter takes them out of a tensor."""
    if kind == 3:
        raw = np.frombuffer(data, np.uint8).reshape(-1, 20)
        q = np.concatenate([raw[:, 4:] & 15, raw[:, 4:] >> 4], axis=1)
        return q.reshape(ROWS, -1, 32), raw[:, :2].copy().view(np.float16).reshape(ROWS, -1, 1)
    raw = np.frombuffer(data, np.uint8).reshape(-1, 144)
    q = np.stack([raw[:, 16:].reshape(-1, 4, 32) & 15, raw[:, 16:].reshape(-1, 4, 32) >> 4], axis=2).reshape(ROWS, -1, 32)
    d = raw[:, :2].copy().view(np.float16).astype(np.float32)
    six = np.concatenate([raw[:, 4:8] & 63, (raw[:, 12:16] & 15) | (raw[:, 4:8] >> 6 << 4)], axis=1)
    return q, (d * six).astype(np.float16).reshape(ROWS, -1, 1)


def network(path: Path, q: np.ndarray, scales: np.ndarray) -> None:
    """What the library makes of such a tensor, with zero points that are nothing like the right ones."""
    zeros = np.full(scales.shape, 7, np.uint8)
    packed = [pack(part) for part in (q, zeros)]  # the tensors borrow their memory until the network is saved
    tensors = [openvino.Tensor(data, part.shape, openvino.Type.u4) for data, part in zip(packed, (q, zeros), strict=True)]
    plain = op.multiply(op.subtract(*(op.convert(op.constant(tensor), "f16") for tensor in tensors)), op.constant(scales))
    ids = op.parameter([-1, COLUMNS], np.float32, name="x")
    matrix = op.convert(op.reshape(plain, op.constant(np.array([ROWS, COLUMNS])), special_zero=False), "f32")
    openvino.save_model(openvino.Model([op.result(op.matmul(ids, matrix, False, True))], [ids], "m"), path, compress_to_fp16=False)


def pack(values: np.ndarray) -> np.ndarray:
    flat = np.concatenate([values.reshape(-1), np.zeros(values.size % 2, np.uint8)])
    return np.ascontiguousarray(flat[0::2] | (flat[1::2] << 4)).astype(np.uint8)


def weights_of(path: Path) -> np.ndarray:
    compiled = openvino.Core().compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1})
    return next(iter(compiled([np.eye(COLUMNS, dtype=np.float32)]).values())).T


@pytest.mark.parametrize(("kind", "make"), [(3, q4_1), (12, q4_k)])
def test_weights_are_those_of_the_file_again(tmp_path: Path, kind: int, make) -> None:
    data, expected = make(np.random.default_rng(kind))
    source = write_gguf(tmp_path / "m.gguf", {"general.architecture": "llama"}, [("any.weight", (ROWS, COLUMNS), kind, data)])
    q, scales = nibbles(kind, data)
    shuffled = np.random.default_rng(1).permutation(ROWS)
    network(tmp_path / "openvino_model.xml", q[shuffled], scales[shuffled])
    assert np.abs(weights_of(tmp_path / "openvino_model.xml") - expected[shuffled]).max() > 0.05
    restore_zero_points(source, tmp_path / "openvino_model.xml")
    assert np.abs(weights_of(tmp_path / "openvino_model.xml") - expected[shuffled]).max() < 0.002
    assert sorted(item.name for item in tmp_path.iterdir()) == ["m.gguf", "openvino_model.bin", "openvino_model.xml"]


def test_a_tensor_that_is_not_found_is_left_alone_and_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    data, _ = q4_1(np.random.default_rng(1))
    other, _ = q4_1(np.random.default_rng(2))
    source = write_gguf(tmp_path / "m.gguf", {"general.architecture": "llama"}, [("any.weight", (ROWS, COLUMNS), 3, data)])
    network(tmp_path / "openvino_model.xml", *nibbles(3, other))
    before = weights_of(tmp_path / "openvino_model.xml")
    restore_zero_points(source, tmp_path / "openvino_model.xml")
    assert np.array_equal(weights_of(tmp_path / "openvino_model.xml"), before)
    assert "1 of 1 quantised tensors" in caplog.text


def test_other_formats_are_not_touched(tmp_path: Path) -> None:
    source = write_gguf(tmp_path / "m.gguf", {"general.architecture": "llama"}, [("any.weight", (4, 8), 1, bytes(64))])
    restore_zero_points(source, tmp_path / "there is none.xml")
