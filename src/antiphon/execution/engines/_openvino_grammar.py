"""Finds out whether a JSON Schema can be enforced before it reaches the batch.

The library compiles a schema only in the middle of a step, where a refusal would wreck the whole batch. So it compiles it here
first, in a pipeline around a model of one constant that shares the tokenizer, and with it the compiled schemas, with the real one.
"""

import re
import tempfile
from collections import OrderedDict
from typing import Final

import numpy as np

from antiphon.core.errors import InvalidRequest
from antiphon.execution.engines._openvino import op, openvino, openvino_genai
from antiphon.execution.engines._schema_circles import Circular, check_circles
from antiphon.execution.engines._schema_cost import TooCostly, check_cost

ANY_OBJECT: Final = '{"type":"object"}'
_REMEMBERED: Final = 1024
_PLACE: Final = re.compile(r"^.*?\.cc:\d+: (?:Check failed: \(.*?\)(?: is false)?: )?", re.DOTALL)


class SchemaChecker:
    """Refuses the schemas that the library cannot enforce. Not to be used by two threads at once, but for ``knows``."""

    def __init__(self, tokenizer: openvino_genai.Tokenizer, vocabulary: int, end_ids: tuple[int, ...]) -> None:
        with tempfile.TemporaryDirectory(prefix="antiphon-") as folder:
            openvino.save_model(_constant_model(vocabulary), f"{folder}/openvino_model.xml", compress_to_fp16=False)
            self._pipeline = openvino_genai.LLMPipeline(folder, tokenizer, "CPU", ATTENTION_BACKEND="SDPA", INFERENCE_NUM_THREADS=1)
        self._prompt = openvino.Tensor(np.zeros((1, 1), np.int64))
        self._end_ids = set(end_ids)
        self._good: OrderedDict[str, None] = OrderedDict()
        self.check(ANY_OBJECT)

    def knows(self, schema: str) -> bool:
        """Whether ``schema`` was found good already."""
        return schema in self._good

    def check(self, schema: str) -> None:
        """Compile ``schema``. Raises InvalidRequest with what the library has against it."""
        if schema in self._good:
            self._good.move_to_end(schema)
            return
        check_form(schema)
        config = openvino_genai.GenerationConfig(max_new_tokens=1)
        config.stop_token_ids = self._end_ids
        config.structured_output_config = openvino_genai.StructuredOutputConfig(json_schema=schema)
        try:
            self._pipeline.generate(self._prompt, config)
        except RuntimeError as error:
            raise _refused(_PLACE.sub("", str(error)).strip()[:300]) from error
        self._good[schema] = None
        if len(self._good) > _REMEMBERED:
            self._good.popitem(last=False)


def check_form(schema: str) -> None:
    """Raises InvalidRequest where ``schema`` is not one, would take too long to compile, or means nothing. Is quick itself."""
    try:
        check_cost(schema)
        check_circles(schema)
    except (TooCostly, Circular) as error:
        raise _refused(str(error)) from error


def _refused(reason: str) -> InvalidRequest:
    return InvalidRequest(
        f"the JSON Schema cannot be enforced: {reason}",
        remedy="change the schema, or ask for response_format json_object and describe the form in the prompt",
        param="response_format",
    )


def _constant_model(vocabulary: int) -> openvino.Model:
    """A language model that finds every token equally likely."""
    inputs = [
        op.parameter([-1, -1], np.int64, name="input_ids"),
        op.parameter([-1, -1], np.int64, name="attention_mask"),
        op.parameter([-1], np.int32, name="beam_idx"),
    ]
    for node in inputs:
        node.output(0).get_tensor().set_names({node.get_friendly_name()})
    shape = op.concat([op.shape_of(inputs[0]), op.constant(np.array([vocabulary], np.int64))], 0)
    logits = op.broadcast(op.constant(np.zeros(1, np.float32)), shape)
    logits.output(0).get_tensor().set_names({"logits"})
    return openvino.Model([op.result(logits)], inputs, "constant")
