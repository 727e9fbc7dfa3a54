"""Gives a converted network back the accuracy that OpenVINO GenAI takes from it.

The quantised formats Q4_1 and Q4_K of GGUF mean ``weight = scale * q + bias``. The library writes that as ``scale * (q - zero)``
with ``zero = -bias / scale`` rounded to a whole number, which flattens what the model predicts: SmolLM2-135M in Q4_1 loses half a
nat per token. So the zero points are computed again from the file and put into the network as they are. A tensor is found by its
scales, whatever its name and in whatever order the library put its rows.
"""

import logging
import mmap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from antiphon.execution.engines._gguf import GgufTensor, read_tensors
from antiphon.execution.engines._openvino import op, openvino

log = logging.getLogger(__name__)

Array = np.ndarray[Any, Any]
_Q4_1: Final = 3
_Q4_K: Final = 12
_MOST: Final = 60_000.0


def restore_zero_points(path: str, network: Path) -> None:
    """Replace the rounded zero points of ``network``, an IR file converted from the GGUF file at ``path``."""
    tensors = [tensor for tensor in read_tensors(path) if tensor.kind in _READERS]
    if not tensors:
        return
    model = openvino.Core().read_model(network)
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        by_scales = {_signature(_read(data, tensor)[0]): tensor for tensor in tensors}
        restored = sum(_restore(node, data, by_scales) for node in _rounded(model))
    if restored < len(tensors):
        log.warning('zero points of %d of %d quantised tensors of "%s" stay rounded', len(tensors) - restored, len(tensors), path)
    fresh = network.with_name("restored.xml")
    openvino.save_model(model, fresh, compress_to_fp16=False)
    del model
    fresh.replace(network)
    fresh.with_suffix(".bin").replace(network.with_suffix(".bin"))


def _rounded(model: openvino.Model) -> Iterator[Any]:
    """The subtractions of a 4-bit zero point from 4-bit weights."""
    for node in model.get_ops():
        if node.get_type_name() == "Subtract":
            weights, zeros = (node.input_value(side).get_node() for side in (0, 1))
            if all(_is_four_bit(side) for side in (weights, zeros)):
                yield node


def _is_four_bit(node: Any) -> bool:
    if node.get_type_name() != "Convert":
        return False
    source = node.input_value(0).get_node()
    return bool(source.get_type_name() == "Constant" and source.get_output_element_type(0) == openvino.Type.u4)


def _restore(node: Any, data: mmap.mmap, by_scales: dict[int, GgufTensor]) -> bool:
    users = [target.get_node() for target in node.output(0).get_target_inputs()]
    if (
        len(users) != 1
        or users[0].get_type_name() != "Multiply"
        or users[0].input_value(1).get_node().get_type_name() != "Constant"
    ):
        return False
    multiply = users[0]
    scales = multiply.input_value(1).get_node().data
    rows = scales.reshape(scales.shape[0], -1)
    tensor = by_scales.get(_signature(rows))
    if tensor is None:
        return False
    stored, biases = _read(data, tensor)
    place = {row.tobytes(): index for index, row in enumerate(stored)}
    if len(place) != len(stored):
        return False
    order = [place[row.tobytes()] for row in rows]
    fixed, zeros = _as_zero_points(rows, biases[order])
    node.input(1).replace_source_output(op.constant(zeros.reshape(scales.shape)).output(0))
    if fixed is not rows:
        multiply.input(1).replace_source_output(op.constant(fixed.reshape(scales.shape)).output(0))
    return True


def _as_zero_points(scales: Array, biases: Array) -> tuple[Array, Array]:
    """Scales and zero points so that ``scale * (q - zero)`` is ``scale * q + bias``, float16.

    Where a scale is 0 all its ``q`` are 0, so that -bias with zero point 1 says the same.
    """
    empty = scales == 0
    zeros = -biases / np.where(empty, 1, scales.astype(np.float32))
    if not empty.any():
        return scales, np.clip(zeros, -_MOST, _MOST).astype(np.float16)
    fixed = np.where(empty, -biases, scales).astype(np.float16)
    return fixed, np.clip(np.where(empty, 1, zeros), -_MOST, _MOST).astype(np.float16)


def _signature(scales: Array) -> int:
    """The same for the same rows in any order."""
    return sum(hash(row.tobytes()) for row in np.ascontiguousarray(scales))


def _read(data: mmap.mmap, tensor: GgufTensor) -> tuple[Array, Array]:
    """Scales (float16) and biases (float32) of a tensor, one row per row of the tensor and one column per 32 weights."""
    width, read = _READERS[tensor.kind]
    rows, columns = tensor.shape[0], tensor.shape[-1]
    blocks = rows * columns // (32 if tensor.kind == _Q4_1 else 256)
    raw = np.frombuffer(data, np.uint8, blocks * width, tensor.offset).reshape(blocks, width)
    scales, biases = read(raw)
    return scales.reshape(rows, -1), biases.reshape(rows, -1)


def _read_q4_1(raw: Array) -> tuple[Array, Array]:
    halves = raw[:, :4].copy().view(np.float16)
    return halves[:, :1].copy(), halves[:, 1:].astype(np.float32)


def _read_q4_k(raw: Array) -> tuple[Array, Array]:
    """256 weights in 8 groups: float16 factors of scales and of minima, then 6 bits of each packed into 12 bytes."""
    factors = raw[:, :4].copy().view(np.float16).astype(np.float32)
    packed = raw[:, 4:16]
    low, high, rest = packed[:, 0:4], packed[:, 4:8], packed[:, 8:12]
    scales = np.concatenate([low & 63, (rest & 15) | ((low >> 6) << 4)], axis=1)
    minima = np.concatenate([high & 63, (rest >> 4) | ((high >> 6) << 4)], axis=1)
    return (factors[:, :1] * scales).astype(np.float16), -factors[:, 1:] * minima


_READERS: Final[dict[int, tuple[int, Callable[[Array], tuple[Array, Array]]]]] = {_Q4_1: (20, _read_q4_1), _Q4_K: (144, _read_q4_k)}
"""By format: bytes of a block, and what reads its scales and biases."""
