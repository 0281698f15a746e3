"""What an object of this process, such as an estimator, needs on the server, and gives back when it is freed."""
from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any, Dict, List, Set

from ._http import Http
from .errors import BadInput, BadType, SpacelandError

if TYPE_CHECKING:
    from .client import Client

__all__ = ["Lease"]


class Lease:
    """Jobs, and holds on graphs. Only on the server of this process, where nobody else would delete them; on other servers
    everything stays, since people may look at it.

    A graph is deleted with its last hold, unless somebody else has uploaded it or has jobs on it: the server counts. A
    lease that is never given back, because the process died, keeps the graph.
    """

    def __init__(self, client: "Client"):
        self.client = client
        self._hold = secrets.token_hex(16) if client.server is not None else ""
        self._graphs: Set[str] = set()
        self._jobs: List[str] = []

    def query(self) -> Dict[str, str]:
        """The parameters of an upload for this lease."""
        return {"hold": self._hold} if self._hold else {}

    def uploaded(self, graph: str) -> None:
        """A graph was uploaded with query()."""
        if self._hold:
            self._graphs.add(graph)

    def take(self, graph: str) -> None:
        """Holds a graph that the server has."""
        if not self._hold or graph in self._graphs:
            return
        try:
            self.client.http.request("PUT", f"/v1/graphs/{graph}/holds/{self._hold}")
        except SpacelandError:
            return  # the graph was deleted, which the job's reply says better
        self._graphs.add(graph)

    def add_job(self, path: str) -> None:
        if self._hold:
            self._jobs.append(path)

    def give_back(self) -> None:
        server = self.client.server
        if not self._hold or server is None or not server.alive():
            return
        # Uses its own connection: garbage collection may call it during a request. A warning there would have no reader.
        http = Http(server.url, attempts=1, timeout=10, tells=False)
        paths = self._jobs + [f"/v1/graphs/{graph}/holds/{self._hold}" for graph in self._graphs]
        self._jobs, self._graphs = [], set()
        for path in paths:
            try:
                http.request("DELETE", path)
            except SpacelandError:
                pass  # somebody has deleted it
        http.close()

    def __deepcopy__(self, memo: Any) -> "Lease":
        raise BadType("a lease has one owner")
