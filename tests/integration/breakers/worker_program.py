"""A worker that calls one target: ``worker_program.py SOCKET LOG DEAD``. While the file DEAD exists its calls fail.

Each admitted trial is a line of the log ``trial`` before its call is made; a state that changes is a line with its name.
"""

import asyncio
import os
import sys
from pathlib import Path

import uvloop

from antiphon.core.breaker_board import Admission, Permit
from antiphon.core.breaker_policy import BreakerPolicy
from antiphon.core.clock import SystemClock
from antiphon.dispatch.coordinator.breakers.worker_board import WorkerBoard
from antiphon.dispatch.coordinator.ledger.client import CoordinatorLedger
from antiphon.dispatch.coordinator.link import CoordinatorLink

POLICY = BreakerPolicy(open_for=0.7, trial_lease=1.5)


class Program:
    def __init__(self, path: str, log: str, dead: str) -> None:
        self.board = WorkerBoard(SystemClock())
        self.link = CoordinatorLink(CoordinatorLedger(SystemClock(), log), path, self.board)
        self.log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self.dead = Path(dead)
        self.board.watch(lambda target, view: self.say(view.state))

    def say(self, word: str) -> None:
        os.write(self.log, f"{word}\n".encode())

    async def run(self) -> None:
        await self.link.ready(20)
        self.say("ready")
        await asyncio.gather(*(self.call_on() for _ in range(4)))

    async def call_on(self) -> None:
        while True:
            told: asyncio.Future[Admission] = asyncio.get_running_loop().create_future()
            answer = self.board.admit("target", POLICY, told.set_result) or await told
            if isinstance(answer, Permit):
                if answer.trial:
                    self.say(f"trial {answer.trial}")
                await asyncio.sleep(0.01)
                self.board.report(answer, not self.dead.exists())
            await asyncio.sleep(0.01)


async def main(path: str, log: str, dead: str) -> None:
    await Program(path, log, dead).run()


uvloop.run(main(*sys.argv[1:4]))
