from antiphon.supervisor.backoff import Backoff, BackoffPolicy

POLICY = BackoffPolicy(first=0.1, limit=10.0, healthy=30.0, setup=60.0)


def pauses(backoff: Backoff, count: int) -> list[float]:
    return [round(backoff.pause(healthy_for=0.0), 3) for _ in range(count)]


def test_pauses_double_up_to_the_limit():
    assert pauses(Backoff(POLICY, lambda: 1.0), 9) == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10.0, 10.0]


def test_jitter_takes_away_up_to_a_half():
    assert pauses(Backoff(POLICY, lambda: 0.0), 9) == [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]


def test_it_begins_anew_after_a_time_of_health():
    backoff = Backoff(POLICY, lambda: 1.0)
    pauses(backoff, 5)
    assert backoff.pause(healthy_for=29.0) == 3.2
    assert backoff.pause(healthy_for=30.0) == 0.1


def test_what_the_operator_must_mend_is_not_tried_often():
    backoff = Backoff(POLICY, lambda: 0.0)
    assert backoff.pause(healthy_for=0.0, setup=True) == 30.0
    assert backoff.pause(healthy_for=0.0, setup=True) == 30.0


def test_it_never_overflows():
    backoff = Backoff(POLICY, lambda: 1.0)
    assert pauses(backoff, 3000)[-1] == 10.0
