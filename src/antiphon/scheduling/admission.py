"""Whether a call can be on time, asked when it comes and again when it is sent: what cannot be is refused while there is time."""

from math import inf
from random import Random

from antiphon.scheduling.fairness import cost
from antiphon.scheduling.fleet import Fleet
from antiphon.scheduling.held import Held
from antiphon.scheduling.job import Job
from antiphon.scheduling.lengths import Lengths
from antiphon.scheduling.settings import QueueSettings
from antiphon.scheduling.speed import Drain
from antiphon.scheduling.waiting import ArrivalQueue, WaitingQueue

Queue = WaitingQueue | ArrivalQueue


class Admission:
    """Judges by what was learned: how long answers are, how fast the fleet is, and how fast it works off what waits."""

    def __init__(self, fleet: Fleet, settings: QueueSettings, rng: Random) -> None:
        self.settings = settings
        self.lengths = Lengths()
        self.drain = Drain()
        self._fleet = fleet
        self._rng = rng

    def expected_output(self, job: Job, now: float) -> float:
        """Answer tokens: like those before, and no more than would be in time at an idle replica."""
        bound = float(job.max_tokens)
        typical = self._fleet.typical
        if job.deadline < inf and typical.known:
            pace = typical.per_token(1.0)
            left = job.deadline - now - typical.first_token(job.prompt_tokens)
            if pace > 0:
                bound = min(bound, max(1.0, left / pace))
        return self.lengths.expected(job.tenant, bound)

    def nowhere(self, now: float, patience: float) -> bool:
        """Whether no replica may be asked for that many seconds."""
        return not self._fleet.usable and self._fleet.next_recovery(now) - now > patience

    def refusal(self, held: Held, queue: Queue, now: float) -> str:
        """Why the job is refused before it waits; empty where it may."""
        job, settings = held.job, self.settings
        if not queue:
            return ""
        wait = self.wait(job, queue)
        if now + wait + self._quickest(held) > job.deadline or now + wait > job.first_token_due:
            return "late"
        if wait > settings.max_wait[job.tier]:
            return "waited"
        if job.sheddable and job.tier and self._sheds(held, queue, wait / settings.max_wait[job.tier]):
            return "shed"
        return ""

    def wait(self, job: Job, queue: Queue) -> float:
        """Seconds that the job would wait if it came now."""
        return self.drain.seconds(queue.work_before(job))

    def late(self, held: Held, now: float) -> bool:
        """Whether not even the quickest replica would be in time."""
        job = held.job
        if job.deadline == inf and job.first_token_due == inf:
            return False
        first = self._fleet.typical.first_token(job.prompt_tokens) if not job.blocks else 0.0
        return now + self._quickest(held) > job.deadline or now + first > job.first_token_due

    def retry_after(self, job: Job, queue: Queue, now: float) -> float:
        """Seconds after which asking again may help: until a replica may be asked, or until what waits before has been served."""
        if not self._fleet.usable:
            recovery = self._fleet.next_recovery(now)
            return max(0.0, recovery - now) if recovery < inf else 1.0
        return max(1.0, self.wait(job, queue))

    def _sheds(self, held: Held, queue: Queue, pressure: float) -> bool:
        """Refuse by chance: the longer the wait, and the more work the call is, the likelier."""
        start = self.settings.shed_from
        if pressure <= start:
            return False
        chance = (pressure - start) / max(1e-9, 1 - start)
        mean = queue.work / len(queue)
        size = cost(held.job.prompt_tokens, held.output) / max(1.0, mean)
        return self._rng.random() < min(1.0, chance * size)

    def _quickest(self, held: Held) -> float:
        """Seconds to the whole answer at a replica with nothing else to do."""
        prompt = 0.0 if held.job.blocks else float(held.job.prompt_tokens)
        return self._fleet.typical.answer(prompt, held.output, 1.0)
