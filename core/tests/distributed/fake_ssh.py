"""Stands for ssh in tests: ``ssh [-o X] HOST COMMAND`` runs the command on this machine.

Like ssh it gives the command a new session, few variables, the home folder and pipes of its own,
and ends by a signal without a word to the command. Standard input goes nowhere.
"""

import os
import signal
import subprocess
import sys
import threading

words = sys.argv[1:]
while words[0].startswith("-"):
    words = words[2:]
host, command = words
if host == "nowhere":
    sys.exit(
        print("ssh: connect to host nowhere port 22: No route to host", file=sys.stderr) or 255
    )
signal.signal(signal.SIGTERM, signal.SIG_DFL)
kept = {name: os.environ[name] for name in ("HOME", "PATH") if name in os.environ}
remote = subprocess.Popen(
    ["sh", "-c", command], env=kept, cwd=kept.get("HOME"), start_new_session=True,
    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
)  # fmt: skip


def forward(pipe, descriptor):
    while data := os.read(pipe.fileno(), 65536):
        os.write(descriptor, data)


threads = [
    threading.Thread(target=forward, args=each, daemon=True)
    for each in ((remote.stdout, 1), (remote.stderr, 2))
]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
code = remote.wait()
sys.exit(code if code >= 0 else 255)
