"""How well-known gateways are configured for the suite, as their own documentation says."""

import msgspec

from antiphon.core.errors import NotFound

SILENCE = 5
"""Seconds of silence after which a gateway should give a server up; the case ``fail-silence`` looks at it."""


class KnownGateway(msgspec.Struct, frozen=True):
    """A gateway that the suite can tell how to configure."""

    name: str
    configuration: str
    """Its file; PORT stands for the port of the scripted servers."""
    start: str
    """How it is started, and the suite with it."""

    def text(self, port: int) -> str:
        """Configuration and commands, as a file with comments."""
        comment = "".join(f"# {line}\n" for line in self.start.strip().splitlines())
        return (comment + self.configuration).replace("PORT", str(port))


ANTIPHON = KnownGateway(
    "antiphon",
    f"""\
server: {{port: 8080}}
models: []
embeddings: {{enabled: false}}
providers:
  - name: fidelity
    url: http://127.0.0.1:PORT/v1
    models: [fidelity-openai]
    idle_timeout: {SILENCE}
""",
    """\
antiphon serve --config antiphon.yaml
antiphon fidelity --gateway http://127.0.0.1:8080 --mock-port PORT
""",
)

LITELLM = KnownGateway(
    "litellm",
    f"""\
model_list:
  - model_name: fidelity-openai
    litellm_params:
      model: openai/fidelity-openai
      api_base: http://127.0.0.1:PORT/v1
      api_key: sk-upstream
      stream_timeout: {SILENCE}
      max_retries: 0
      allowed_openai_params: [user, verbosity]
  - model_name: fidelity-anthropic
    litellm_params:
      model: anthropic/claude-sonnet-4-20250514
      api_base: http://127.0.0.1:PORT
      api_key: sk-upstream
      stream_timeout: {SILENCE}
      max_retries: 0
litellm_settings:
  num_retries: 0
  drop_params: false
  use_chat_completions_url_for_anthropic_messages: true
router_settings:
  num_retries: 0
  disable_cooldowns: true
general_settings:
  master_key: sk-fidelity
""",
    """\
litellm --config litellm.yaml --port 4000
antiphon fidelity --gateway http://127.0.0.1:4000 --mock-port PORT --key sk-fidelity
""",
)

KNOWN = (ANTIPHON, LITELLM)


def known_gateway(name: str) -> KnownGateway:
    """The gateway of that name. Raises NotFound."""
    for gateway in KNOWN:
        if gateway.name == name.lower():
            return gateway
    names = ", ".join(gateway.name for gateway in KNOWN)
    raise NotFound(f'no configuration is known for "{name}"', remedy=f"name one of {names}, or send the model as theirs do")
