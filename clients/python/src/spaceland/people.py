"""Users, tokens, accounting, audit log and maintenance: what a user may do for himself, and what administrators do."""
from __future__ import annotations

import datetime
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union
from urllib.parse import quote

from ._http import Http
from .errors import BadType, BadValue, own_errors_of, tell

__all__ = ["People", "User"]

Day = Union[str, datetime.date, None]
Moment = Union[str, float, datetime.timedelta, datetime.datetime, None]


def _given(**values: Any) -> Dict[str, Any]:
    return {name.rstrip("_"): value for name, value in values.items() if value is not None}


def _time(moment: datetime.datetime) -> str:
    """A time in UTC, as the server reads it; without a zone it is a local one."""
    return moment.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def _since(moment: Day) -> Optional[str]:
    """A date or a time for a query."""
    if isinstance(moment, datetime.datetime):
        return _time(moment)
    return moment.isoformat() if isinstance(moment, datetime.date) else moment


def _until(moment: Moment) -> Union[str, float, None]:
    """A time, or a number of seconds from now on, for a body."""
    if isinstance(moment, datetime.timedelta):
        return moment.total_seconds()
    if isinstance(moment, datetime.datetime):
        return _time(moment)
    if moment is None or isinstance(moment, str) or isinstance(moment, (int, float)) and not isinstance(moment, bool):
        return moment
    raise BadType(f"the time is {moment!r}; it must be a number of seconds from now on, a timedelta, a datetime, or a text "
                  "such as 2026-12-24T18:00:00Z")


@own_errors_of
class User:
    """A user of the server, for administrators. `record` is the server's record when it was read."""

    def __init__(self, http: Http, record: Dict[str, Any]):
        self._http = http
        self.record = record

    @property
    def id(self) -> str:
        return str(self.record["id"])

    @property
    def name(self) -> str:
        return str(self.record["name"])

    @property
    def role(self) -> str:
        """reader, user or administrator."""
        return str(self.record["role"])

    @property
    def state(self) -> str:
        """active, disabled or deleted."""
        return str(self.record["state"])

    @property
    def path(self) -> str:
        return f"/v1/users/{self.id if self.state == 'deleted' else quote(self.name, safe='')}"

    def refresh(self) -> "User":
        self.record = self._http.json("GET", f"/v1/users/{self.id}")
        return self

    def change(self, *, role: Optional[str] = None, limits: Optional[Dict[str, Any]] = None,
               project: Optional[str] = None) -> "User":
        """Sets the role, limits ({"disk_bytes": 20e9}; 0: no limit, None: the server's default) or the default project
        ("": none)."""
        body = _given(role=role, limits=limits)
        if project is not None:
            body["project"] = project or None
        self.record = self._http.json("PATCH", self.path, json=body)
        return self

    def rename(self, name: str) -> "User":
        """Things, tokens and limits stay. A proxy that logs users in must send the new name from now on."""
        self.record = self._http.json("PATCH", self.path, json={"name": name})
        return self

    def disable(self) -> "User":
        """The server refuses the user, all tokens and links; running jobs go on, the others wait. Data and limits stay."""
        self.record = self._http.json("PATCH", self.path, json={"disabled": True})
        return self

    def enable(self) -> "User":
        """Undoes disable()."""
        self.record = self._http.json("PATCH", self.path, json={"disabled": False})
        return self

    def delete(self, *, data: bool = False) -> None:
        """Deletes the user with all tokens. What the user owns stays, and waiting jobs wait, until somebody transfers it,
        deletes it (data=True, also later) or restores the user (Client.add_user(name, restore=True))."""
        self._http.request("DELETE", self.path, query={"data": "delete" if data else "keep"}, missing_is_done=True)

    def transfer(self, to: "Union[User, str]", things: Optional[Sequence[Any]] = None, *, dry_run: bool = False) -> Dict[str, Any]:
        """Gives graphs, jobs, batches and uploaded layouts, with the links to them, to another user: all, or these (Job, Graph or
        id). Returns how many there are of each; dry_run: changes nothing."""
        ids = None if things is None else [str(getattr(thing, "id", thing)) for thing in things]
        body = {**_given(things=ids), "to": to.name if isinstance(to, User) else to, "dry_run": dry_run}
        return dict(self._http.json("POST", f"{self.path}/transfer", json=body))

    def tokens(self) -> List[Dict[str, Any]]:
        """The tokens: id, name, created, expires, last_used (seconds since 1970)."""
        return list(self.refresh().record["tokens"])

    def add_token(self, name: Optional[str] = None, *, days: Optional[int] = None) -> str:
        """Makes a token, which is known only now. days: until it expires; default: never."""
        return str(self._http.json("POST", f"{self.path}/tokens", json=_given(name=name, days=days))["token"])

    def revoke(self, id: Optional[str] = None) -> None:
        """Revokes the token of this id; default: all of them. The user stays, with limits, data and jobs."""
        self._http.request("DELETE", f"{self.path}/tokens" + (f"/{id}" if id else ""), missing_is_done=True)

    def __repr__(self) -> str:
        state = "" if self.state == "active" else f", {self.state}"
        return f"<spaceland.User {self.name!r}: {self.role}{state}>"


@own_errors_of
class People:
    """The part of Client that is about people and maintenance."""

    http: Http

    # ---- oneself --------------------------------------------------------------------------------------

    def me(self) -> Dict[str, Any]:
        """Name, role, limits and use, projects, and the token of this client, if the server knows it."""
        return dict(self.http.json("GET", "/v1/me"))

    def tokens(self) -> List[Dict[str, Any]]:
        """Your tokens: id, name, created, expires, last_used (seconds since 1970)."""
        return list(self.http.json("GET", "/v1/me/tokens")["tokens"])

    def add_token(self, name: Optional[str] = None, *, days: Optional[int] = None) -> str:
        """Makes a token for yourself, which is known only now. It lasts at most as long as the one of this client."""
        return str(self.http.json("POST", "/v1/me/tokens", json=_given(name=name, days=days))["token"])

    def rotate_token(self, id: str = "this", *, days: Optional[int] = None, overlap: float = 3600) -> str:
        """Replaces one of your tokens, by default that of this client, which goes on with the new one. Returns the new
        token: store it. The old one ends after `overlap` seconds."""
        body = {**_given(days=days), "replaces": id, "overlap_seconds": int(overlap)}
        mine = (self.me()["token"] or {}).get("id") if id != "this" else id
        token = str(self.http.json("POST", "/v1/me/tokens", json=body)["token"])
        if mine == id:
            self.http.use_token(token)
        return token

    def revoke_token(self, id: str) -> None:
        """Revokes one of your tokens, by its id."""
        self.http.request("DELETE", f"/v1/me/tokens/{id}", missing_is_done=True)

    def accounting(self, *, start: Day = None, end: Day = None, by: Union[str, Sequence[str]] = "user",
                   user: Optional[str] = None, project: Optional[str] = None) -> List[Dict[str, Any]]:
        """What was used, for 400 days: device_seconds, allocation_seconds and gpu_seconds on a cluster, jobs that ended,
        disk_byte_days. A row for each combination of `by`: "user", "project", "day", or several. start, end: the first and the last day, in UTC. pandas.DataFrame(rows) makes a
        table. Others than administrators get their own."""
        text = by if isinstance(by, str) else ",".join(by)
        query = _given(from_=_since(start), to=_since(end), by=text, user=user, project=project)
        return list(self.http.json("GET", "/v1/accounting", query=query)["items"])

    # ---- administrators: people ---------------------------------------------------------------------

    def users(self, *, deleted: bool = False) -> List[User]:
        """All users; deleted: the deleted ones who still own something. This and what follows is for administrators."""
        return [User(self.http, one) for one in self.http.json("GET", "/v1/users", query={"state": "deleted"} if deleted else None)["items"]]

    def user(self, name: str) -> User:
        """A user by name, or by id, by which deleted users are found."""
        return User(self.http, self.http.json("GET", f"/v1/users/{quote(name, safe='')}"))

    def add_user(self, name: str, role: Optional[str] = None, *, restore: Union[bool, str] = False) -> User:
        """Adds a user; role: reader, user or administrator. restore: the deleted user of this name comes back, with limits and
        things; or the one with this id, if there are several. Otherwise it is a new person, even if one of this name was
        deleted, which a warning tells."""
        reply, note = self.http.told("POST", "/v1/users", json=_given(name=name, role=role, restore=restore or None))
        for text in note:
            tell(text)
        return User(self.http, reply)

    def top(self, by: str = "user", sort: str = "device_seconds") -> List[Dict[str, Any]]:
        """Users, or projects (by="project"), with what they have and use now, the largest first."""
        return list(self.http.json("GET", "/v1/top", query={"by": by, "sort": sort})["items"])

    def audit(self, *, user: Optional[str] = None, object: Any = None, since: Day = None, until: Day = None,
              limit: Optional[int] = None) -> List[Dict[str, Any]]:
        """The last changes and refusals, oldest first: at most `limit`, by default 100. object: a Job, a Graph, a Project, an id,
        or the name of a project. since, until: a date, a datetime, or a text such as 2026-11-28T10:30:00Z."""
        thing = None if object is None else str(getattr(object, "id", None) or getattr(object, "name", object))
        query = _given(user=user, object=thing, since=_since(since), until=_since(until), limit=limit)
        return list(self.http.json("GET", "/v1/audit", query=query)["items"])

    # ---- administrators: maintenance -----------------------------------------------------------------

    def maintenance(self) -> Dict[str, Any]:
        """Whether the server is drained (`drain`), and its `banner`. For everybody."""
        return dict(self.http.json("GET", "/v1/maintenance"))

    def drain(self, reason: Optional[str] = None, *, by: Moment = None) -> Dict[str, Any]:
        """The server takes no new jobs, and starts no waiting ones, until undrain(), also over restarts. by: when jobs that still
        run are saved, which go on afterwards: seconds from now on, a timedelta or a datetime; default: they finish."""
        return dict(self.http.json("PUT", "/v1/maintenance/drain", json=_given(reason=reason, by=_until(by))))

    def undrain(self) -> Dict[str, Any]:
        """Ends the drain."""
        return dict(self.http.json("DELETE", "/v1/maintenance/drain"))

    def banner(self, text: Optional[str], *, until: Moment = None) -> Dict[str, Any]:
        """A line that dashboards, the command line and Python show to everybody; None: removes it."""
        if text is None:
            return dict(self.http.json("DELETE", "/v1/maintenance/banner"))
        return dict(self.http.json("PUT", "/v1/maintenance/banner", json=_given(text=text, until=_until(until))))

    def retention(self) -> Dict[str, Any]:
        """How long ended jobs are kept, how many expire soon, and options of the configuration that would delete results and
        wait for confirm_retention(): `pending`, and `state`'s `pending`. For everybody."""
        return dict(self.http.json("GET", "/v1/retention"))

    def confirm_retention(self, pending: Dict[str, Any]) -> Dict[str, Any]:
        """Puts pending options into force, which deletes results: retention()["pending"], or retention()["state"]["pending"].
        A Conflict says that they have changed since."""
        if not isinstance(pending, dict):
            raise BadValue("there is nothing to confirm: pass retention()['pending'], or retention()['state']['pending'], if it is not None")
        keys: Tuple[str, ...] = ("max_state_bytes", "collect_after_s") if "max_state_bytes" in pending else ("result_retention_s", "max_finished_jobs")
        return dict(self.http.json("POST", "/v1/retention", json={key: pending[key] for key in keys}))
