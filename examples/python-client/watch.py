"""Says how a server is: what serves, and what its last calls were."""

from antiphon_client import Client


def main() -> None:
    with Client(timeout=10) as client:
        health, ready = client.admin.health(), client.admin.ready()
        print(f"Antiphon {health.version} at {client.base_url}: {ready.status}")
        for process in client.admin.processes().processes:
            print(f"  {process.name}: {process.state}, {process.restarts} restarts")
        for call in client.admin.calls(limit=10).data:
            print(
                f"  {call.id}: {call.model}, status {call.status}, {call.duration * 1000:.0f} ms, {call.usage.total_tokens} tokens"
            )


if __name__ == "__main__":
    main()
