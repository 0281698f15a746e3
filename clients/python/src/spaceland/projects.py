"""Projects: groups of users with common limits; access to graphs and jobs."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence
from urllib.parse import quote

from .errors import own_errors_of

if TYPE_CHECKING:
    from .client import Client
    from .job import Job
    from .listing import Listing

__all__ = ["Project", "shared"]


@own_errors_of
class Project:
    """A project of which you are a member; for administrators, any project."""

    def __init__(self, client: "Client", record: Dict[str, Any]):
        self.client = client
        self.record = record

    @property
    def name(self) -> str:
        return str(self.record["name"])

    @property
    def members(self) -> List[str]:
        """Names of its users."""
        return list(self.record["members"])

    @property
    def path(self) -> str:
        return f"/v1/projects/{quote(self.name, safe='')}"

    def refresh(self) -> "Project":
        self.record = self.client.http.json("GET", self.path)
        return self

    def add(self, user: str) -> "Project":
        """Makes a user a member. All changes of projects are for administrators."""
        self.client.http.request("PUT", f"{self.path}/members/{quote(user, safe='')}")
        return self.refresh()

    def remove(self, user: str) -> "Project":
        """Removes a member, who loses access to what is shared with the project."""
        self.client.http.request("DELETE", f"{self.path}/members/{quote(user, safe='')}")
        return self.refresh()

    def change(self, *, share: Optional[float] = None, limits: Optional[Dict[str, Any]] = None,
               keep: Optional[bool] = None, job_seconds: Optional[float] = None) -> "Project":
        """Sets the share of the devices, or limits: {"running_jobs": 8}; None: no limit. keep: the server does not delete
        the project's jobs because of their age or to make room. job_seconds: that one job may be running; 0: no limit."""
        given = {"share": share, "limits": limits, "keep": keep, "job_seconds": job_seconds}
        self.record = self.client.http.json("PATCH", self.path, json={k: v for k, v in given.items() if v is not None})
        return self

    def jobs(self, **query: Any) -> "Listing[Job]":
        """Jobs of the project that you may see; query as in Client.jobs()."""
        return self.client.jobs(project=self.name, **query)

    def delete(self) -> None:
        self.client.http.request("DELETE", self.path, missing_is_done=True)

    def __repr__(self) -> str:
        return f"<spaceland.Project {self.name!r}: {len(self.members)} members>"


def shared(client: "Client", id: str, readers: Optional[Sequence[str]], projects: Optional[Sequence[str]],
           everybody: Optional[bool]) -> Dict[str, Any]:
    """Sets who may read a graph or a job; None: unchanged. Returns the present access."""
    given = {"readers": readers, "projects": projects, "everybody": everybody}
    body = {key: value if isinstance(value, bool) else list(value) for key, value in given.items() if value is not None}
    return dict(client.http.json("PUT" if body else "GET", f"/v1/access/{id}", **({"json": body} if body else {})))
