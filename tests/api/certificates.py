"""Self-signed certificates for tests."""
import shutil
import subprocess

import pytest


def make(folder, name="server", names="DNS:localhost,IP:127.0.0.1", key="ec", days=30):
    """Writes NAME.pem and NAME.key; the certificate is its own authority."""
    if not shutil.which("openssl"):
        pytest.skip("skipped: no openssl to make a certificate with")
    kind = {"ec": ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"], "rsa": ["rsa:2048"]}[key]
    certificate, private = folder / f"{name}.pem", folder / f"{name}.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", *kind, "-nodes", "-keyout", private, "-out", certificate,
                    "-days", str(days), "-subj", f"/CN={name}", "-addext", f"subjectAltName={names}"],
                   check=True, capture_output=True)
    return str(certificate), str(private)
