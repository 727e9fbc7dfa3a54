"""What is measured: the loads, and the bodies that they send."""

import json
from pathlib import Path

import msgspec

from benchmarks.gateway.peers import MODEL

PROSE = 'Explain how a reverse proxy chooses one of its servers, "fairly",\nand what it does when that one has gone. '


class Case(msgspec.Struct, frozen=True):
    """One load, the same for every gateway."""

    name: str
    body_bytes: int
    connections: int
    seconds: float
    """How long one measurement shall take; a slow gateway gets fewer calls."""
    events: int = 0
    """Events with text in each answer; 0: the answer is no stream."""
    pace_ms: int = 0
    """Milliseconds between events; 0: all in one go."""
    rate: float = 0.0
    """Calls a second, 0: the next one when the last was answered."""

    def body(self) -> str:
        """The request, ``body_bytes`` long."""
        marker = f"[events={self.events} pace={self.pace_ms}] " if self.events else ""
        system = {"role": "system", "content": "You are a helpful assistant."}
        user = {"role": "user", "content": marker}
        request = {"model": MODEL, "messages": [system, user], "temperature": 0.7, "max_tokens": 64, "stream": bool(self.events)}
        if self.events:
            request["stream_options"] = {"include_usage": True}
        room = self.body_bytes - len(json.dumps(request))
        size = len(json.dumps(PROSE)) - 2
        user["content"] = marker + PROSE * (room // size) + "." * (room % size)
        return json.dumps(request)

    def write(self, folder: Path) -> Path:
        """A file with the request."""
        path = folder / f"{self.name}.json"
        path.write_text(self.body())
        return path


SMALL = Case("1 KB", 1024, 64, 2.0)
LARGE = Case("100 KB", 102400, 16, 1.5)
BURST = Case("burst", 1024, 16, 2.0, events=256)
PACED = Case("paced", 1024, 256, 3.0, events=64, pace_ms=20)
STEADY = Case("steady", 1024, 32, 4.0, rate=50.0)

CASES = (SMALL, LARGE, BURST, PACED, STEADY)
