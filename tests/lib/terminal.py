# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs whose standard error is a terminal."""
import os
import pty
import subprocess
import threading


def run(args, timeout=60, **kw):
    """(exit status, standard output, what the terminal got)"""
    main, side = pty.openpty()
    shown = []

    def read():
        try:
            while data := os.read(main, 65536):
                shown.append(data)
        except OSError:  # EIO: nobody has the other side any more, and all was read
            pass

    reader = threading.Thread(target=read)
    try:
        with subprocess.Popen(args, stdout=subprocess.PIPE, stderr=side, text=True, **kw) as p:
            os.close(side)
            reader.start()
            try:
                out = p.communicate(timeout=timeout)[0]
            except subprocess.TimeoutExpired:
                p.kill()
                raise
        reader.join()
    finally:
        os.close(main)
    return p.returncode, out, b"".join(shown).decode()
