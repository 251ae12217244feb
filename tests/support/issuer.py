"""An OpenID Connect issuer in this process, behind a socket: discovery, keys, and tokens of any kind, forged ones too."""

import contextlib
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from joserfc import jwt
from joserfc.jwk import ECKey, OctKey, OKPKey, RSAKey
from joserfc.jws import JWSRegistry

AUDIENCE = "ward-edge"
ANY = JWSRegistry(algorithms=["RS256", "ES256", "Ed25519", "HS256", "RS512"])


def made_key(algorithm, key_id):
    """A private key that makes such signatures."""
    parameters = {"kid": key_id, "use": "sig"}
    match algorithm:
        case "RS256":
            return RSAKey.generate_key(2048, parameters)
        case "ES256":
            return ECKey.generate_key("P-256", parameters)
        case _:
            return OKPKey.generate_key("Ed25519", parameters)


class Signing(JWSRegistry):
    """Whatever is asked for, without the library's advice."""

    def get_alg(self, name):
        return self.algorithms[name]


class Issuer:
    """Its keys by id; ``asked``: the paths that were asked for. ``is_away``: it answers 503."""

    def __init__(self):
        self.keys = {"rsa": made_key("RS256", "rsa"), "ec": made_key("ES256", "ec"), "ed": made_key("EdDSA", "ed")}
        self.asked = []
        self.is_away = False
        self.names_itself = None  # in its discovery document; None: as it is called
        self.url = ""

    def listed(self):
        """Its public keys, as they are published; a secret that two share is among them, which nobody may believe in."""
        return {"keys": [*(key.as_dict(private=False) for key in self.keys.values()), OctKey.generate_key(256, {"kid": "oct"}).as_dict()]}

    def claims(self, **changes):
        """What a sound token says; a claim that is None is left out."""
        now = int(time.time())
        base = {
            "iss": self.url, "aud": AUDIENCE, "sub": "ann", "iat": now, "nbf": now, "exp": now + 300,
            "roles": ["dgrag-read"], "dgrag_labels": ["hr"],
        }  # fmt: skip
        return {name: value for name, value in {**base, **changes}.items() if value is not None}

    def token(self, key_id="rsa", *, key=None, header=None, **changes):
        """A token that is signed with one of its keys, or with another one under that id."""
        key = key or self.keys[key_id]
        algorithm = {"RSA": "RS256", "EC": "ES256", "OKP": "EdDSA", "oct": "HS256"}[key.key_type]
        head = {"alg": algorithm, "kid": key_id, **(header or {})}
        return jwt.encode(head, self.claims(**changes), key, registry=Signing(strict_check_header=False))

    def answer(self, path):
        """What stands at a path."""
        if path == "/.well-known/openid-configuration":
            return {"issuer": self.names_itself or self.url, "jwks_uri": f"{self.url}/keys"}
        return self.listed() if path == "/keys" else None


@contextlib.contextmanager
def running_issuer():
    """One at an address of this machine."""
    issuer = Issuer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            issuer.asked.append(self.path)
            found = None if issuer.is_away else issuer.answer(self.path)
            body = json.dumps(found).encode()
            self.send_response(503 if found is None else 200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        issuer.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield issuer
        finally:
            server.shutdown()
            thread.join()
