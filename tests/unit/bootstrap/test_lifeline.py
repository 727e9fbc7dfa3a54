"""Lines and descriptors over a real pair of sockets; the end of the process is left to the tests that start one."""

import os
import socket
import subprocess
import sys

import pytest

from antiphon.bootstrap.lifeline import MAX_DESCRIPTORS

HEARS = """
import os, sys
from antiphon.bootstrap.lifeline import Lifeline, read_line
line, rest = read_line()
lifeline = Lifeline(rest)
def hear(line, arrived):
    if not line[-1:].isdigit():
        return print(line.decode(), flush=True)
    count = int(line.split()[-1])
    descriptors, arrived[:count] = arrived[:count], []
    inodes = [os.fstat(fd).st_ino for fd in descriptors]
    print(line.decode(), inodes, any(map(os.get_inheritable, descriptors)), flush=True)
lifeline.attach(hear)
print(line.decode(), flush=True)
lifeline.watch()
"""


@pytest.fixture
def heard():
    ours, theirs = socket.socketpair()
    with ours, subprocess.Popen([sys.executable, "-c", HEARS], stdin=theirs.fileno(), stdout=subprocess.PIPE) as process:
        theirs.close()
        yield ours, process
        process.kill()


def test_descriptors_come_with_the_line_behind_them_and_its_end_is_the_processs(heard, tmp_path):
    ours, process = heard
    files = [os.open(tmp_path / str(number), os.O_CREAT) for number in range(MAX_DESCRIPTORS + 3)]
    inodes = [os.fstat(fd).st_ino for fd in files]
    ours.sendall(b"spec\n")
    assert process.stdout.readline() == b"spec\n"
    ours.sendall(b"plain\nsplit ")
    ours.sendall(b"in two\n")
    socket.send_fds(ours, [b"\n"], files[:MAX_DESCRIPTORS])
    socket.send_fds(ours, [b"\n"], files[MAX_DESCRIPTORS:-1])
    ours.sendall(b"first %d\nsecond 0\n" % (len(files) - 1))
    socket.send_fds(ours, [b"\n"], files[-1:])
    ours.sendall(b"third 1\n")
    assert process.stdout.readline() == b"plain\n"
    assert process.stdout.readline() == b"split in two\n"
    assert process.stdout.readline().decode() == f"first {len(files) - 1} {inodes[:-1]} False\n"
    assert process.stdout.readline() == b"second 0 [] False\n"
    assert process.stdout.readline().decode() == f"third 1 {inodes[-1:]} False\n"
    ours.close()
    assert process.wait(20) == 70
    for fd in files:
        os.close(fd)
