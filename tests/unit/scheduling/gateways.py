"""Several schedulers in front of the same replicas, each of which sees its own calls only."""

from antiphon.scheduling.scheduler import Scheduler


class Gateways:
    """Stands where a run has one scheduler, and deals out calls in turn."""

    def __init__(self, schedulers: list[Scheduler]) -> None:
        self.schedulers = schedulers
        self.fleet = schedulers[0].fleet

    @property
    def waiting(self):
        return sum(each.waiting for each in self.schedulers)

    def of(self, job_id):
        return self.schedulers[job_id % len(self.schedulers)]

    def arrived(self, job, now):
        return self.of(job.id).arrived(job, now)

    def first_token(self, job_id, replica, now):
        return self.of(job_id).first_token(job_id, replica, now)

    def finished(self, job_id, replica, tokens, now):
        return self.of(job_id).finished(job_id, replica, tokens, now)

    def gone(self, job_id, now):
        return self.of(job_id).gone(job_id, now)

    def metrics(self, replica, reported, now):
        return [decision for each in self.schedulers for decision in each.metrics(replica, reported, now)]

    def tick(self, now):
        return [decision for each in self.schedulers for decision in each.tick(now)]

    def next_alarm(self):
        return min(each.next_alarm() for each in self.schedulers)
