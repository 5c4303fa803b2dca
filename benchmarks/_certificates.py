"""Certificates for one run: an authority, and one certificate that all ranks of this machine show.

Made by the ``openssl`` program, because the standard library reads certificates and makes none.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

# Given in full, so that nothing depends on the defaults of the machine's own openssl.cnf.
CONFIGURATION = """
[req]
distinguished_name = name
[name]
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign
subjectKeyIdentifier = hash
[rank]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth, clientAuth
subjectAltName = DNS:localhost, IP:127.0.0.1, IP:::1
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
"""


def make(folder: Path) -> dict[str, str]:
    """Write keys and certificates into the folder; return the variables that tell ranks of them.

    Raises OSError without an ``openssl`` program, CalledProcessError when it fails.
    """
    configuration = folder / "openssl.cnf"
    configuration.write_text(CONFIGURATION)

    def certificate(name: str, *signed_by: str) -> None:
        options = ["-config", str(configuration), "-extensions", name, "-subj", f"/CN=cobre benchmark {name}"]
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
        files = ["-keyout", str(folder / f"{name}.key"), "-out", str(folder / f"{name}.pem")]
        command = ["openssl", "req", "-x509", "-days", "2", "-nodes", *options, *key, *files, *signed_by]
        subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)

    certificate("authority")
    authority = str(folder / "authority.pem")
    certificate("rank", "-CA", authority, "-CAkey", str(folder / "authority.key"))
    return {
        "COBRE_TCP_TLS_CERT": str(folder / "rank.pem"),
        "COBRE_TCP_TLS_KEY": str(folder / "rank.key"),
        "COBRE_TCP_TLS_CA": authority,
    }
