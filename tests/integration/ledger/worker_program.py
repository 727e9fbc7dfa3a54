"""A worker that only reserves and settles: ``worker_program.py SOCKET NAME LOG COUNT CAPACITY SEED``.

Each settlement is a line of the log before it is told. ``drained N`` says that the coordinator has acknowledged the first N.
"""

import asyncio
import os
import random
import sys

import uvloop

from antiphon.core.clock import SystemClock
from antiphon.core.ledger import Hold, Limit, Refusal, Reservation
from antiphon.dispatch.coordinator.ledger.client import CoordinatorLedger
from antiphon.dispatch.coordinator.link import CoordinatorLink

TOGETHER = 50


class Program:
    def __init__(self, path: str, name: str, log: str, capacity: int, seed: int) -> None:
        self.ledger = CoordinatorLedger(SystemClock(), f"{name}-{os.getpid()}")
        self.link = CoordinatorLink(self.ledger, path)
        self.limit, self.own = Limit(capacity), Limit(2**50)
        self.name = name
        self.log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self.random = random.Random(seed)
        self.written = 0
        self.refused = 0

    async def run(self, count: int) -> None:
        await self.link.ready(20)
        for start in range(0, count, TOGETHER):
            await asyncio.gather(*(self.call() for _ in range(TOGETHER)))
            if start % 1000 == 0:
                await self.drained()
        await self.drained()
        os.write(self.log, f"refused {self.refused}\n".encode())
        await self.link.close()

    async def call(self) -> None:
        amount = self.random.randrange(1, 100)
        told: asyncio.Future[Reservation | Refusal] = asyncio.get_running_loop().create_future()
        holds = [Hold("budget", amount, self.limit), Hold(self.name, amount, self.own)]
        outcome = self.ledger.reserve(holds, told.set_result) or await told
        while isinstance(outcome, Refusal) and outcome.reason == "unavailable":
            await asyncio.sleep(0.05)
            told = asyncio.get_running_loop().create_future()
            outcome = self.ledger.reserve(holds, told.set_result) or await told
        if isinstance(outcome, Refusal):
            self.refused += 1
            return
        await asyncio.sleep(0)
        if self.random.random() < 0.2:
            self.ledger.release(outcome)
            return
        used = self.random.randrange(0, amount + 1)
        os.write(self.log, f"{used}\n".encode())
        self.written += 1
        self.ledger.settle(outcome, [used, used])

    async def drained(self) -> None:
        told = asyncio.Event()
        written = self.written
        self.ledger.drain(told.set)
        await asyncio.wait_for(told.wait(), 60)
        os.write(self.log, f"drained {written}\n".encode())


async def main(path: str, name: str, log: str, count: str, capacity: str, seed: str) -> None:
    await Program(path, name, log, int(capacity), int(seed)).run(int(count))


uvloop.run(main(*sys.argv[1:]))
