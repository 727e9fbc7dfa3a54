"""Text encoders that run on this machine. One file each, ending in ``plugin = ...``."""

from typing import Protocol

from antiphon.core.plugins import PluginGroup
from antiphon.core.ports import Encoder

ENCODERS = PluginGroup("antiphon.encoders", "antiphon.execution.encoders")


class EncoderPlugin(Protocol):
    """What ``plugin`` of an encoder's file is."""

    def load(self) -> Encoder:
        """Load the model, without the network. Blocks for seconds; raises SetupError or NoMemory."""
