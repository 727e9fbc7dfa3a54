"""Very large and very many."""

from antiphon.testing.fidelity.case import Beside, Case, Group
from antiphon.testing.fidelity.checks import finishes, others_go_on, says, sent_messages
from antiphon.testing.fidelity.words.openai import ask, stream, streamed, text, user, whole
from antiphon.testing.steps import Wire

LARGE = "The quick brown fox 狐 jumps.\n" * 130_000
"""4 MB."""
LONG = "What do you make of this? " + "lorem ipsum 世界 " * 120_000
"""2 MB."""
TINY = ("a", "b", " ", "c") * 5_000
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "iVBORw0KGgoA" * 250_000}}
"""3 MB."""
MANY = [{"role": "user" if at % 2 == 0 else "assistant", "content": f"Turn {at}."} for at in range(2_000)]

GROUP = Group(
    name="size",
    title="Large and many",
    about="One event of several megabytes, twenty thousand tiny ones, and questions as long as a book; whole, and "
    "without holding up others.",
    sources=("OpenAI API reference: neither events nor messages have a limit but that of the model.",),
    cases=(
        Case(
            id="size-event",
            right="One event of 4 MB arrives whole.",
            body=stream(),
            scene=streamed(*text(LARGE)),
            checks=(says(LARGE), finishes("stop")),
            limit=60.0,
        ),
        Case(
            id="size-event-cut",
            right="One event of 1 MB arrives whole in reads of 1,000 bytes.",
            body=stream(),
            scene=streamed(*text(LARGE[:1_000_000]), wire=Wire(write_size=1_000)),
            checks=(says(LARGE[:1_000_000]), finishes("stop")),
            limit=60.0,
        ),
        Case(
            id="size-tiny",
            right="20,000 tiny events arrive, in order.",
            body=stream(),
            scene=streamed(*text(*TINY), wire=Wire(merge=20)),
            checks=(says("".join(TINY)), finishes("stop")),
            limit=120.0,
        ),
        Case(
            id="size-tiny-others",
            right="While 20,000 tiny events are passed on, others are answered within two seconds.",
            body=stream(),
            scene=streamed(*text(*TINY), wire=Wire(merge=20)),
            caller=Beside(),
            checks=(says("".join(TINY)), others_go_on),
            limit=120.0,
        ),
        Case(
            id="size-event-others",
            right="While an event of 4 MB is passed on, others are answered within two seconds.",
            body=stream(),
            scene=streamed(*text(LARGE)),
            caller=Beside(),
            checks=(says(LARGE), others_go_on),
            limit=60.0,
        ),
        Case(
            id="size-answer",
            right="An answer of 4 MB in one piece arrives whole.",
            body=ask(),
            scene=whole(LARGE),
            checks=(says(LARGE),),
            limit=60.0,
        ),
        Case(
            id="size-question",
            right="A question of 2 MB arrives whole.",
            body=ask(LONG),
            scene=whole(),
            checks=(sent_messages(user(LONG)), says("Here it is.")),
            limit=60.0,
        ),
        Case(
            id="size-image",
            right="An image of 3 MB arrives whole.",
            body=ask([IMAGE]),
            scene=whole(),
            checks=(sent_messages(user([IMAGE])), says("Here it is.")),
            limit=60.0,
        ),
        Case(
            id="size-turns",
            right="A conversation of 2,000 turns arrives in order.",
            body={"messages": [*MANY, user()]},
            scene=whole(),
            checks=(sent_messages(*MANY, user()), says("Here it is.")),
            limit=60.0,
        ),
    ),
)
