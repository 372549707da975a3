# SPDX-License-Identifier: GPL-3.0-or-later
"""Certificates for tests, made by openssl: a CA, and certificates that it signed."""
import os
import subprocess


def openssl(*args, cwd):
    subprocess.run(["openssl", *args], cwd=cwd, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def make_ca(folder, name="ca"):
    """Writes NAME.pem and NAME.key."""
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.pem", cwd=folder)


def make_cert(folder, name="cert", san="DNS:dns.test,IP:127.0.0.1", ca="ca", key=None):
    """Writes NAME.pem, signed by the CA, and its key as KEY (default: key.pem)."""
    key = key or "key.pem"
    openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", f"/CN={name}",
            "-keyout", key, "-out", f"{name}.csr", cwd=folder)
    with open(os.path.join(folder, f"{name}.ext"), "w", encoding="ascii") as f:
        f.write(f"subjectAltName={san}\n")
    openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{ca}.pem", "-CAkey", f"{ca}.key", "-CAcreateserial", "-days", "2",
            "-extfile", f"{name}.ext", "-out", f"{name}.pem", cwd=folder)


def texts(folder):
    """All files of the folder as `files` of a Server."""
    out = {}
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), encoding="utf-8") as f:
            out[name] = f.read()
    return out
