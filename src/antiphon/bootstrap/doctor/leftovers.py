"""What killed servers left behind."""

from collections.abc import Iterator

from antiphon.bootstrap.doctor.subject import Finding, Subject
from antiphon.bootstrap.run_folders import run_folders


def run_folders_of_the_dead(_subject: Subject) -> Iterator[Finding]:
    """Run folders whose server was killed."""
    dead = [str(folder.path) for folder in run_folders() if not folder.alive]
    if dead:
        what = f"killed servers left {len(dead)} run folder(s): {', '.join(dead[:5])}"
        yield Finding("leftovers", "warning", what, 'the next "antiphon serve" removes them; you need not')
    else:
        yield Finding("leftovers", "ok", "no run folder of a killed server")
