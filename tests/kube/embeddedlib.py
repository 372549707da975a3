"""The embedded API of this program, started for a test."""
import json
import os
import shutil
import subprocess
import tempfile

import callerlib


class Embedded:
    def __init__(self, options=()):
        self.dir = tempfile.mkdtemp(prefix="fairlead-embedded-")
        self.options = list(options)
        self.process = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.dir, ignore_errors=True)

    def start(self):
        program = callerlib.program("kube-apiserver-embedded")
        self.process = subprocess.Popen([program, os.path.join(self.dir, "data"), *self.options],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        line = self.process.stdout.readline()
        assert line, f"the embedded API ended with status {self.process.wait()}"
        said = json.loads(line)
        self.url, self.user, self.system = said["url"], said["user"], said["system"]
        self.ca = os.path.join(self.dir, "ca.crt")
        with open(self.ca, "w", encoding="utf-8") as f:
            f.write(said["ca"])

    def stop(self):
        self.process.stdin.close()
        status = self.process.wait(20)
        self.process.stdout.close()
        assert status == 0, f"the embedded API ended with status {status}"

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
