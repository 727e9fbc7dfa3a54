"""OpenVINO's libraries, without their telemetry.

Importing them would report each start to an analytics service of their vendor and leave files in the user's home. They do without
the package that does it if it cannot be imported. Every module takes the libraries from here.
"""

import sys

sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]

import openvino  # noqa: E402 - after the line that silences it
import openvino_genai  # noqa: E402
from openvino import opset13 as op  # noqa: E402

__all__ = ["op", "openvino", "openvino_genai"]
