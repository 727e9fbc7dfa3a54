"""How well-known gateways are configured for the suite, each as its own documentation says."""

import msgspec

from antiphon.core.errors import NotFound

SILENCE = 5
"""Seconds of silence after which a gateway should give a server up; the cases ``fail-silence`` look at it."""


class KnownGateway(msgspec.Struct, frozen=True):
    """A gateway that the suite can tell how to configure. PORT stands for the port of the scripted servers."""

    name: str
    configuration: str
    """Its file."""
    commands: tuple[str, ...]
    """How it is started, and then the suite."""

    def file(self, port: int) -> str:
        """Its configuration, for scripted servers on this port."""
        return self.configuration.replace("PORT", str(port))

    def lines(self, port: int) -> list[str]:
        """What to type."""
        return [command.replace("PORT", str(port)) for command in self.commands]


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
  - name: fidelity-anthropic
    protocol: anthropic
    url: http://127.0.0.1:PORT/v1
    models: [fidelity-anthropic]
    idle_timeout: {SILENCE}
""",
    (
        "antiphon serve --config antiphon.yaml",
        "antiphon fidelity --gateway http://127.0.0.1:8080 --mock-port PORT",
    ),
)

BIFROST = KnownGateway(
    "bifrost",
    f"""\
{{
  "config_store": {{"enabled": false}},
  "providers": {{
    "openai": {{
      "keys": [{{"name": "fidelity", "value": "sk-upstream", "models": ["*"], "weight": 1.0}}],
      "network_config": {{
        "base_url": "http://127.0.0.1:PORT",
        "allow_private_network": true,
        "max_retries": 0,
        "stream_idle_timeout_in_seconds": {SILENCE}
      }}
    }},
    "anthropic": {{
      "keys": [{{"name": "fidelity", "value": "sk-upstream", "models": ["*"], "weight": 1.0}}],
      "network_config": {{
        "base_url": "http://127.0.0.1:PORT",
        "allow_private_network": true,
        "max_retries": 0,
        "stream_idle_timeout_in_seconds": {SILENCE}
      }}
    }}
  }}
}}
""",
    (
        "mkdir -p bifrost && mv config.json bifrost/ && npx @maximhq/bifrost -app-dir ./bifrost -port 8080",
        "antiphon fidelity --gateway http://127.0.0.1:8080 --mock-port PORT --model openai/fidelity-openai \\",
        "    --anthropic-model anthropic/fidelity-anthropic",
    ),
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
    (
        "litellm --config litellm.yaml --host 127.0.0.1 --port 4000",
        "antiphon fidelity --gateway http://127.0.0.1:4000 --mock-port PORT --key sk-fidelity",
    ),
)

MLFLOW = KnownGateway(
    "mlflow",
    """\
endpoints:
  - name: fidelity-openai
    endpoint_type: llm/v1/chat
    model:
      provider: openai
      name: fidelity-openai
      config: {openai_api_key: sk-upstream, openai_api_base: "http://127.0.0.1:PORT/v1"}
""",
    (
        "mlflow gateway start --config-path mlflow.yaml --port 7000",
        "antiphon fidelity --gateway http://127.0.0.1:7000 --mock-port PORT",
    ),
)

NGINX = KnownGateway(
    "nginx",
    f"""\
daemon off;
pid nginx.pid;
error_log stderr error;
events {{}}
http {{
    access_log off;
    client_max_body_size 32m;
    server {{
        listen 127.0.0.1:8000;
        location / {{
            proxy_pass http://127.0.0.1:PORT;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_buffering off;
            proxy_read_timeout {SILENCE}s;
        }}
    }}
}}
""",
    (
        "nginx -p . -c nginx.conf",
        "antiphon fidelity --gateway http://127.0.0.1:8000 --mock-port PORT",
    ),
)

PORTKEY = KnownGateway(
    "portkey",
    'x-portkey-config: {"strategy":{"mode":"conditional","conditions":'
    '[{"query":{"params.model":{"$eq":"fidelity-anthropic"}},"then":"anthropic"}],"default":"openai"},"targets":['
    '{"name":"openai","provider":"openai","api_key":"sk-upstream","custom_host":"http://127.0.0.1:PORT/v1"},'
    '{"name":"anthropic","provider":"anthropic","api_key":"sk-upstream","custom_host":"http://127.0.0.1:PORT/v1"}]}\n',
    (
        "TRUSTED_CUSTOM_HOSTS=127.0.0.1 node node_modules/@portkey-ai/gateway/build/start-server.js --port=8787 --headless",
        'antiphon fidelity --gateway http://127.0.0.1:8787 --mock-port PORT --header "$(cat portkey.header)"',
    ),
)

KNOWN = (ANTIPHON, BIFROST, LITELLM, MLFLOW, NGINX, PORTKEY)
NAMES = ", ".join(gateway.name for gateway in KNOWN)


def known_gateway(name: str) -> KnownGateway:
    """The gateway of that name. Raises NotFound."""
    for gateway in KNOWN:
        if gateway.name == name.lower():
            return gateway
    raise NotFound(f'no configuration is known for "{name}"', remedy=f"name one of {NAMES}, or send the models as theirs do")
