"""How fast a replica is: learned from the calls that it answered."""

from typing import Final

from antiphon.scheduling.fairness import cost

MEMORY: Final = 0.98
"""What a sample counts for after the next one."""
OUTLIER: Final = 4.0
"""Times as slow as usual that a sample counts as at most, in what is usual: one sick replica does not become the measure."""
FEW: Final = 8
"""Samples below which a replica is taken to be like the rest of its fleet."""


class Speed:
    """Seconds a prompt token takes, and seconds an output token takes with so many sequences running.

    The first is a mean weighed by tokens; the second a straight line fitted by least squares, in which older samples fade.
    """

    __slots__ = ("known", "_decodes", "_prefill_seconds", "_prefill_tokens", "_prefills", "_sums", "_typical")

    def __init__(self, typical: "Speed | None" = None) -> None:
        self._typical = typical
        """What is believed before there are samples."""
        self.known = False
        """Whether there is enough of its own to go by."""
        self._prefills = 0
        self._prefill_seconds = 0.0
        self._prefill_tokens = 0.0
        self._decodes = 0
        self._sums = (0.0, 0.0, 0.0, 0.0, 0.0)
        """Of 1, x, y, x², xy, with x running sequences and y seconds for a token."""

    def saw_first_token(self, tokens: float, seconds: float) -> None:
        """The first token came after so many seconds, in which ``tokens`` uncached prompt tokens were to be prefilled."""
        if self._typical is not None:
            self._typical.saw_first_token(tokens, seconds)
        elif self._prefills >= FEW:
            seconds = min(seconds, OUTLIER * self.first_token(max(1.0, tokens)))
        self._prefills += 1
        self._prefill_seconds = self._prefill_seconds * MEMORY + seconds
        self._prefill_tokens = self._prefill_tokens * MEMORY + max(1.0, tokens)

    def saw_tokens(self, running: float, seconds: float) -> None:
        """A call got a token each ``seconds``, with so many sequences running on average."""
        if self._typical is not None:
            self._typical.saw_tokens(running, seconds)
        elif self._decodes >= FEW:
            seconds = min(seconds, OUTLIER * self.per_token(running))
        self._decodes += 1
        self.known = self._decodes >= FEW and self._prefills >= FEW
        ones, xs, ys, squares, products = self._sums
        self._sums = (
            ones * MEMORY + 1.0,
            xs * MEMORY + running,
            ys * MEMORY + seconds,
            squares * MEMORY + running * running,
            products * MEMORY + running * seconds,
        )

    def doubt(self) -> None:
        """What was learned may be out of date: be as usual, until the next sample says otherwise."""
        if self._typical is None or not self.known:
            return
        self._prefill_tokens = 1.0
        self._prefill_seconds = self._typical.first_token(1.0)
        pace = self._typical.per_token(1.0)
        self._sums = (0.01, 0.01, 0.01 * pace, 0.01, 0.01 * pace)

    def first_token(self, tokens: float) -> float:
        """Seconds until ``tokens`` uncached prompt tokens are prefilled; 0 where nothing is known."""
        if self._prefills < FEW and self._typical is not None:
            return self._typical.first_token(tokens)
        return self._prefill_seconds / self._prefill_tokens * tokens if self._prefill_tokens else 0.0

    def per_token(self, running: float) -> float:
        """Seconds an output token takes with so many sequences running; 0 where nothing is known."""
        if self._decodes < FEW and self._typical is not None:
            return self._typical.per_token(running)
        ones, xs, ys, squares, products = self._sums
        if not ones:
            return 0.0
        spread = ones * squares - xs * xs
        mean = ys / ones
        if spread <= 0.05 * ones * ones:  # about always the same number: no line to be seen
            return mean
        slope = max(0.0, (ones * products - xs * ys) / spread)
        return max(mean / 4, mean + slope * (running - xs / ones))

    def answer(self, uncached_ahead: float, output_tokens: float, running: float) -> float:
        """Seconds until an answer of so many tokens is whole."""
        return self.first_token(uncached_ahead) + self.per_token(running) * max(0.0, output_tokens - 1)


class Drain:
    """Weighed tokens a second that a fleet works off while calls wait for it."""

    __slots__ = ("_rate", "_since", "_sum")

    def __init__(self) -> None:
        self._rate = 0.0
        self._sum = 0.0
        self._since: float | None = None

    def sent(self, prompt_tokens: float, output_tokens: float, now: float, *, waiting: bool) -> None:
        """A call was sent. Only what is sent while others wait tells how fast the fleet is."""
        if not waiting:
            self._since = None
            self._sum = 0.0
            return
        if self._since is None:
            self._since = now
            return
        self._sum += cost(prompt_tokens, output_tokens)
        if now - self._since >= 1.0:
            rate = self._sum / (now - self._since)
            self._rate = rate if not self._rate else 0.8 * self._rate + 0.2 * rate
            self._since, self._sum = now, 0.0

    def seconds(self, work: float) -> float:
        """How long so many weighed tokens wait; 0 where nothing is known."""
        return work / self._rate if self._rate else 0.0
