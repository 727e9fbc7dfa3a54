"""The gateways that are compared: how each is found, configured and started."""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from benchmarks.processes import free_port

MODEL = "bench-model"
KEY = "sk-benchmark"
READY = 60.0
"""Seconds that a gateway gets until it answers."""


class Site(msgspec.Struct, frozen=True):
    """Where a gateway is to stand."""

    port: int
    upstream: int
    """Port of the mock upstream, on loopback."""
    folder: Path
    """For its configuration and files."""

    @property
    def upstream_url(self) -> str:
        return f"http://127.0.0.1:{self.upstream}"

    def write(self, name: str, text: str) -> str:
        """A file with this text; returns its path."""
        path = self.folder / name
        path.write_text(text)
        return str(path)


class Launch(msgspec.Struct, frozen=True):
    """How a gateway is started, and what its callers must send."""

    command: tuple[str, ...]
    environment: dict[str, str] = {}
    headers: tuple[str, ...] = (f"authorization: Bearer {KEY}",)


class Peer(msgspec.Struct, frozen=True):
    """A gateway to compare with."""

    name: str
    program: str
    """Name on the PATH, or path below a folder that was given."""
    launch: Callable[[str, Site], Launch]
    """Given the program's path."""

    def find(self, place: str = "") -> str:
        """Path of the program: at the place given, which is the program, a virtual environment or a folder, else on the PATH."""
        if not place:
            return shutil.which(self.program) or ""
        folder = Path(place)
        candidates = [folder / "bin" / self.program, folder / self.program] if folder.is_dir() else [folder]
        return next((str(path.absolute()) for path in candidates if path.is_file()), "")


def antiphon(_: str, site: Site, workers: int = 1, more: str = "") -> Launch:
    """Antiphon as its users start it: supervisor, control plane, workers; it checks keys and logs calls."""
    config = site.write(
        "antiphon.yaml",
        f"""\
server:
  port: {site.port}
  workers: {workers}
  keys: [{{name: benchmark, key: "${{BENCHMARK_KEY}}"}}]
models: []
embeddings: {{enabled: false}}
providers:
  - name: mock
    url: {site.upstream_url}/v1
    key: "${{BENCHMARK_UPSTREAM_KEY}}"
    models: [{MODEL}]
data_dir: {site.folder}/data
cache_dir: {site.folder}/cache
{more}""",
    )
    secrets = {"BENCHMARK_KEY": KEY, "BENCHMARK_UPSTREAM_KEY": "sk-upstream"}
    return Launch((sys.executable, "-m", "antiphon", "serve", "--config", config), secrets)


def _routed(_: str, site: Site) -> Launch:
    return antiphon(_, site, more=f"routes: [{{name: {MODEL}}}]\n")


def _limited(_: str, site: Site) -> Launch:
    return antiphon(
        _,
        site,
        more=f"""\
prices: [{{model: {MODEL}, input: 2.5, cached_input: 1.25, output: 10, max_output: 4096}}]
limits:
  - {{scope: key, requests: 100000000/minute, tokens: 1000000000000/minute, concurrency: 100000, money: 10000000/month}}
""",
    )


def _nginx(program: str, site: Site) -> Launch:
    folder = site.folder
    config = site.write(
        "nginx.conf",
        f"""\
daemon off;
worker_processes 1;
error_log stderr error;
pid {folder}/nginx.pid;
events {{ worker_connections 8192; }}
http {{
    access_log off;
    client_max_body_size 32m;
    client_body_buffer_size 256k;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    keepalive_requests 1000000000;
    upstream mock {{
        server 127.0.0.1:{site.upstream};
        keepalive 1024;
        keepalive_requests 1000000000;
    }}
    server {{
        listen 127.0.0.1:{site.port} backlog=4096;
        location / {{
            proxy_pass http://mock;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_buffering off;
        }}
    }}
}}
""",
    )
    return Launch((program, "-e", "stderr", "-c", config))


def _envoy(program: str, site: Site) -> Launch:
    config = site.write(
        "envoy.yaml",
        f"""\
static_resources:
  listeners:
    - name: callers
      address: {{socket_address: {{address: 127.0.0.1, port_value: {site.port}}}}}
      filter_chains:
        - filters:
            - name: envoy.filters.network.http_connection_manager
              typed_config:
                "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
                stat_prefix: callers
                http_filters:
                  - name: envoy.filters.http.router
                    typed_config: {{"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}}
                route_config:
                  virtual_hosts:
                    - name: all
                      domains: ["*"]
                      routes: [{{match: {{prefix: /}}, route: {{cluster: mock, timeout: 120s}}}}]
  clusters:
    - name: mock
      type: STATIC
      connect_timeout: 5s
      circuit_breakers: {{thresholds: [{{max_connections: 8192, max_pending_requests: 8192, max_requests: 8192}}]}}
      load_assignment:
        cluster_name: mock
        endpoints:
          - lb_endpoints:
              - endpoint: {{address: {{socket_address: {{address: 127.0.0.1, port_value: {site.upstream}}}}}}}
""",
    )
    return Launch((program, "-c", config, "--concurrency", "1", "--log-level", "error", "--disable-hot-restart"))


def _rust_router(program: str, site: Site) -> tuple[str, ...]:
    return (
        program,
        *("--worker-urls", site.upstream_url),
        *("--host", "127.0.0.1", "--port", str(site.port), "--prometheus-port", str(free_port())),
        *("--policy", "round_robin", "--log-level", "error"),
    )


def _vllm_router(program: str, site: Site) -> Launch:
    return Launch((*_rust_router(program, site), "--max-concurrent-requests", "4096"))


def _sglang_router(program: str, site: Site) -> Launch:
    name, *options = _rust_router(program, site)
    return Launch((name, "launch", *options))


def _litellm(program: str, site: Site) -> Launch:
    config = site.write(
        "litellm.yaml",
        f"""\
model_list:
  - model_name: {MODEL}
    litellm_params: {{model: openai/{MODEL}, api_base: {site.upstream_url}/v1, api_key: sk-upstream}}
litellm_settings: {{telemetry: false, set_verbose: false, num_retries: 0}}
general_settings: {{master_key: {KEY}}}
""",
    )
    command = (program, "--config", config, "--host", "127.0.0.1", "--port", str(site.port), "--num_workers", "1")
    return Launch(command, {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_MODE": "PRODUCTION", "LITELLM_LOG": "ERROR"})


def _portkey(program: str, site: Site) -> Launch:
    headers = (f"authorization: Bearer {KEY}", "x-portkey-provider: openai", f"x-portkey-custom-host: {site.upstream_url}/v1")
    environment = {"NODE_ENV": "production", "TRUSTED_CUSTOM_HOSTS": "127.0.0.1,localhost"}
    return Launch(("node", program, f"--port={site.port}", "--headless"), environment, headers)


OURS = Peer("antiphon", "", antiphon)

ROUTED = Peer("routed", sys.executable, _routed)
"""Antiphon with a scheduler in front of the model."""

LIMITED = Peer("limited", sys.executable, _limited)
"""Antiphon with limits on calls, tokens, places and money, and prices."""

PEERS = (
    ROUTED,
    LIMITED,
    Peer("nginx", "nginx", _nginx),
    Peer("envoy", "envoy", _envoy),
    Peer("vllm-router", "vllm-router", _vllm_router),
    Peer("sglang-router", "sglang-router", _sglang_router),
    Peer("litellm", "litellm", _litellm),
    Peer("portkey", "build/start-server.js", _portkey),
)
