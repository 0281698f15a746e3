"""Checks replies against proto/openapi.yaml: status, content type, schema."""
import pathlib
import re
from urllib.parse import urlsplit

import jsonschema
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Contract:
    def __init__(self, path=ROOT / "proto" / "openapi.yaml"):
        self.document = yaml.load(path.read_text(), Loader=yaml.CSafeLoader)  # a fifth of safe_load's time
        self.resolver = jsonschema.RefResolver("", self.document)
        self.validators = {}
        self.seen = set()  # tested (method, template, status)
        self.paths = []
        for template, item in self.document["paths"].items():
            pattern = re.sub(r"\{[a-z]+\}", "[^/]+", template)
            self.paths.append((re.compile(pattern + r"\Z"), template, item))
        # The literal /v1/openapi.yaml comes before patterns of the same shape.
        self.paths.sort(key=lambda entry: "{" in entry[1])

    def follow(self, node):
        while "$ref" in node:
            node = self.resolver.resolve(node["$ref"])[1]
        return node

    def find(self, path):
        for pattern, template, item in self.paths:
            if pattern.match(path):
                return template, item
        return None, None

    def schema(self, node):
        return self.resolver.resolve(node["$ref"])[1] if "$ref" in node else node

    def validator(self, reference):
        """Resolves a reference such as '#/components/schemas/Job'."""
        if reference not in self.validators:
            self.validators[reference] = jsonschema.Draft202012Validator({"$ref": reference}, resolver=self.resolver)
        return self.validators[reference]

    def validate(self, schema, value, what):
        if "$ref" in schema:
            validator = self.validator(schema["$ref"])
        else:
            validator = jsonschema.Draft202012Validator(schema, resolver=self.resolver)
        errors = sorted(validator.iter_errors(value), key=lambda e: list(e.path))
        if errors:
            error = jsonschema.exceptions.best_match(errors)
            raise AssertionError(f"{what}: at /{'/'.join(map(str, error.absolute_path))}: {error.message[:600]}")

    def check(self, response):
        """Checks a requests.Response whose body has been read."""
        method = response.request.method
        path = urlsplit(response.request.url).path
        what = f"{method} {path} -> {response.status_code}"
        kind = response.headers.get("Content-Type", "").split(";")[0].strip()
        number = response.headers["X-Request-Id"]
        if response.status_code in (429, 503):
            assert int(response.headers["Retry-After"]) > 0, f"{what}: when to come back"
        if response.status_code >= 400:
            assert kind == "application/problem+json", f"{what}: content type {kind!r} for a problem"
            if method != "HEAD":
                document = response.json()
                self.validate({"$ref": "#/components/schemas/Problem"}, document, what)
                assert document["status"] == response.status_code, what
                assert document["request_id"] == number, what
            return
        template, item = self.find(path)
        assert item is not None, f"{what}: not in openapi.yaml"
        operation = item.get("get" if method == "HEAD" else method.lower())
        assert operation is not None, f"{what}: method is not in openapi.yaml"
        self.seen.add((method, template, response.status_code))
        reply = operation["responses"].get(str(response.status_code))
        assert reply is not None, f"{what}: status is not in openapi.yaml"
        content = self.follow(reply).get("content")
        if not content:
            assert not response.content or response.status_code == 206, f"{what}: has a body"
            return
        assert kind in content, f"{what}: content type {kind!r}, not one of {list(content)}"
        if kind == "application/json" and method != "HEAD" and response.status_code != 206:  # 206 is a part of a document
            self.validate(content[kind]["schema"], response.json(), what)
