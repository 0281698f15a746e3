"""Streams of events of a server."""
from __future__ import annotations

import json
from typing import Any, Dict, Iterator, Tuple

import requests

from .errors import SpacelandError

__all__ = ["server_sent"]


def _event(text: str) -> Dict[str, Any]:
    try:
        data = json.loads(text)
    except ValueError:
        data = None
    if not isinstance(data, dict):
        raise SpacelandError(f"an event is not a JSON object, but {text[:80]!r}; is this a spacelandd?")
    return data


def server_sent(reply: requests.Response) -> Iterator[Tuple[str, Dict[str, Any], str]]:
    """Yields (event, data, id or "") of a stream of server-sent events."""
    buffer, event, data, number = b"", "message", "", ""
    for chunk in reply.iter_content(None):
        buffer += chunk
        *lines, buffer = buffer.split(b"\n")
        for line in lines:
            text = line.decode(errors="replace")
            if text.startswith("event:"):
                event = text[6:].strip()
            elif text.startswith("data:"):
                data += text[5:].strip()
            elif text.startswith("id:"):
                number = text[3:].strip()
            elif not text and data:
                yield event, _event(data), number
                event, data, number = "message", "", ""
