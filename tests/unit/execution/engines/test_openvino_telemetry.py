"""Whoever runs a model on this machine tells nobody of it."""

import json
import os
import subprocess
import sys

PROGRAM = """
import json, os, sys
contacts = []
sys.addaudithook(lambda event, args: contacts.append(repr(args)) if event in ("socket.getaddrinfo", "urllib.Request") else None)
from antiphon.execution.engines import ENGINES
ENGINES.load("openvino")
import openvino.tools.ovc, time
time.sleep(0.5)
print(json.dumps([contacts, os.listdir(os.path.expanduser("~"))]))
"""


def test_the_library_contacts_nobody_and_leaves_no_files(tmp_path):
    environment = {name: value for name, value in os.environ.items() if name not in ("CI", "TF_BUILD", "JENKINS_URL")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env={**environment, "HOME": str(tmp_path)}, capture_output=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr.decode()
    assert json.loads(done.stdout.splitlines()[-1]) == [[], []]
