# SPDX-License-Identifier: Apache-2.0
"""The client. It works in one namespace, and it is safe for use by several threads."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NoReturn, cast

import kubernetes.client
import kubernetes.config
import kubernetes.watch
import urllib3.exceptions

from .digest import args_digest
from .errors import AlreadyAnswered, Gone, MotorCortexError, NotAsked, NotFound, Refused, Timeout
from .types import MotorRun, MotorRunSpecResponses, MotorStep, PendingInput

_GROUP, _VERSION = "motorcortex.dev", "v1alpha1"

# What can be raised by a request that has no answer.
_AWAY = (urllib3.exceptions.HTTPError, OSError)

# MAX_ARGUMENTS is the most characters of the arguments of a call that is approved: a person is to see all of it.
MAX_ARGUMENTS = 64 << 10

# How long an API server may be away before that ends a watch, and the pause between two tries. Seconds.
PATIENCE, PAUSE = 60.0, 1.0

# How long a run is not read while no event tells of a change: a connection can be dead without an error. Seconds.
QUIET = 30
# How long any other request may take. Seconds.
REQUEST = 30
_PAGE = 500

# How often an answer is sent when the run changes at the same time.
_TRIES = 3


@dataclass(frozen=True)
class Ask:
    """Something that a run waits for."""

    run: str
    namespace: str
    id: str
    kind: Literal["Question", "Approval", "DomainRequest", "OutcomeUnknown", "Retry"]
    input: PendingInput

    @property
    def question(self) -> str:
        """The question. A model wrote it."""
        return self.input.get("question", "")

    @property
    def options(self) -> list[str]:
        """The answers that the model proposes."""
        return list(self.input.get("options", []))

    @property
    def digest(self) -> str:
        """The digest of the call that is to be approved, "" for another kind."""
        action = self.input.get("action")
        return action.get("argsDigest", "") if action else ""


@dataclass(frozen=True)
class Event:
    """Something that happened to a run: what changed, and the run as it was then."""

    type: Literal["Changed", "Asked", "Answered", "Ended"]
    run: MotorRun
    ask: Ask | None = None


class Client:
    """A client for the runs of a namespace.

    Without a configuration it takes that of the Pod, or the kubeconfig.
    """

    def __init__(
        self, namespace: str, configuration: "kubernetes.client.Configuration | None" = None, clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        if not namespace:
            raise ValueError("the namespace is empty: name the one in which runs are created")
        self.namespace = namespace
        self._clock, self._sleep = clock, sleep
        if configuration is None:
            configuration = kubernetes.client.Configuration()
            try:
                kubernetes.config.load_incluster_config(configuration)
            except kubernetes.config.ConfigException:
                kubernetes.config.load_kube_config(client_configuration=configuration)
        self._api = kubernetes.client.CustomObjectsApi(kubernetes.client.ApiClient(configuration))

    # Runs

    def run(
        self, task: str, *, name: str = "", tools: Sequence[str] = (), domains: Sequence[str] = (), skill: str = "", inputs: Mapping[str, Any] | None = None,
        files: Mapping[str, str] | None = None, model: str = "", approval: Literal["", "Never", "Irreversible", "Always"] = "",
        spec: Mapping[str, Any] | None = None,
    ) -> MotorRun:
        """Creates a run and returns it. files are texts for the workspace by their paths. spec has any other fields of a MotorRun's spec.

        A request without an answer raises MotorCortexError: the run may have been created. Give it a name to be able to try again.
        """
        if not task.strip():
            raise ValueError("the task is empty")
        body: dict[str, Any] = dict(spec or {})
        body["task"] = task
        if tools:
            body["tools"] = list(tools)
        if domains:
            body["domains"] = list(domains)
        if skill:
            body["skillRef"] = {"name": skill}
        if inputs:
            body["inputs"] = [{"name": key, "value": value if isinstance(value, str) else json.dumps(value)} for key, value in inputs.items()]
        if files:
            body["files"] = [{"path": path, "content": content} for path, content in files.items()]
        if model:
            body["model"] = {"name": model}
        if approval:
            body["approval"] = {"required": approval}
        return self._create(body, name)

    def act(
        self, task: str, source: str, language: Literal["javascript", "python"] = "javascript", *, domains: Sequence[str] = (), timeout: float = 120,
    ) -> dict[str, Any]:
        """Runs a program in a sandbox without a model, waits for its end, and returns what it came to: ok, value, console and error.

        task says for people what it is for. timeout is in seconds; when it is over, Timeout is raised, and the run goes on.
        """
        return _acted(self.wait(self._act(task, source, language, domains)["metadata"]["name"], timeout=timeout))

    def _act(self, task: str, source: str, language: str, domains: Sequence[str]) -> MotorRun:
        if not task.strip():
            raise ValueError("the task is empty")
        spec: dict[str, Any] = {"mode": "Oneshot", "code": {"language": language, "source": source, "purpose": task}}
        if domains:
            spec["domains"] = list(domains)
        return self._create(spec)

    def _create(self, spec: Mapping[str, Any], name: str = "") -> MotorRun:
        metadata = {"name": name} if name else {"generateName": "run-"}
        body = {"apiVersion": f"{_GROUP}/{_VERSION}", "kind": "MotorRun", "metadata": metadata, "spec": dict(spec)}
        what = f"create a run in the namespace {self.namespace}"
        try:
            return cast(MotorRun, self._api.create_namespaced_custom_object(_GROUP, _VERSION, self.namespace, "motorruns", body, _request_timeout=REQUEST))
        except _AWAY as error:
            raise MotorCortexError(f"{what}: {error}. It may have been created: list the runs before you try again") from error
        except kubernetes.client.ApiException as error:
            self._refused(what, error, "motorcortex-editor")

    def get(self, name: str) -> MotorRun:
        """Reads a run."""
        return cast(MotorRun, self._read("motorruns", name, f"there is no run {name} in the namespace {self.namespace}"))

    def runs(self) -> Iterator[MotorRun]:
        """Yields the runs of the namespace. It reads 500 in a request."""
        token = ""
        while True:
            try:
                page = self._api.list_namespaced_custom_object(
                    _GROUP, _VERSION, self.namespace, "motorruns", limit=_PAGE, _continue=token, _request_timeout=REQUEST,
                )
            except (kubernetes.client.ApiException, *_AWAY) as error:
                self._refused(f"list the runs of the namespace {self.namespace}", error, "motorcortex-viewer")
            yield from cast("list[MotorRun]", page["items"])
            token = page["metadata"].get("continue", "")
            if not token:
                return

    def cancel(self, name: str) -> MotorRun:
        """Ends a run, in any phase, for ever."""
        run = self.get(name)
        if run.get("status", {}).get("completionTime"):
            raise Refused(f"the run {name} has ended ({run['status'].get('reason')}): there is nothing to cancel")
        return self._patch(run, [{"op": "add", "path": "/spec/cancel", "value": True}], f"cancel the run {name}", "motorcortex-editor")

    # Following

    def watch(self, name: str, *, timeout: float | None = None) -> Iterator[Event]:
        """Yields what happens to a run, from how it stands now until it has ended.

        Events that follow each other quickly can come as one. A watch that the API server ends, or whose connection is lost, is begun again; after a minute
        without an API server the error is raised. timeout is in seconds.
        """
        deadline = None if timeout is None else self._clock() + timeout
        watcher = Watcher(self, name)
        while not watcher.ended:
            left = QUIET if deadline is None else deadline - self._clock()
            if left <= 0:
                raise Timeout(f"the time to wait for the run {name} is over: it goes on. Wait for it again later, or look at its status")
            yield from watcher.next(min(left, QUIET))

    def wait(self, name: str, *, until_asked: bool = False, timeout: float | None = None) -> MotorRun:
        """Returns the run when it has ended. With until_asked it also returns when the run waits for a person. timeout is in seconds."""
        for event in self.watch(name, timeout=timeout):
            if event.type == "Ended" or until_asked and _open(event.run):
                return event.run
        raise MotorCortexError(f"the watch of the run {name} ended without an event")

    # Answers

    def asks(self, run: MotorRun) -> list[Ask]:
        """Returns what a run waits for that has no answer yet."""
        return [_ask(self.namespace, run, p) for p in _open(run)]

    def inbox(self) -> list[Ask]:
        """Returns what the runs of the namespace wait for, those first that expire first."""
        asks = [ask for run in self.runs() for ask in self.asks(run)]
        return sorted(asks, key=lambda ask: ask.input.get("expirationTime", "9"))

    def arguments(self, ask: Ask) -> str:
        """Returns the arguments of the call that an ask is about, whole, if they are those of its digest.

        The status of a run has the beginning and the end of long ones. The rest needs the right to read steps.
        """
        action = ask.input.get("action")
        if not action:
            raise Refused(f"the ask {ask.id} does not say which call it is about")
        arguments, tool, digest = action.get("arguments", ""), action["tool"], ask.digest
        if _digest(tool, arguments) == digest:
            return arguments
        name = ask.input.get("stepName", "")
        step = cast(MotorStep, self._read("motorsteps", name, f"there is no step {name}"))
        calls = [a.get("callID") for a in step.get("status", {}).get("asks", []) if a["id"] == ask.id]
        for call in step["spec"].get("toolCalls", []):
            if call["id"] in calls and _digest(tool, call.get("arguments", "")) == digest:
                return call.get("arguments", "")
        raise Refused(f"the step {name} does not have the call of the ask {ask.id} with the digest {digest}")

    def answer(self, name: str, id: str, answer: str) -> MotorRun:
        """Answers a question. id names the ask: the run may ask something else by now."""
        return self._respond(name, id, ("Question",), {"answer": answer})

    def approve(self, name: str, id: str, digest: str, *, whole_run: bool = False, reason: str = "") -> MotorRun:
        """Approves the tool call with that digest, as the person saw it.

        With whole_run it approves every further call of the same tool by the same rule, too. A call that cannot be shown whole is refused.
        """
        run, ask = self._find(name, id, ("Approval",))
        self._same(ask, digest)
        if len(self.arguments(ask)) > MAX_ARGUMENTS:
            raise Refused(f"the call that the run {name} asks about has over {MAX_ARGUMENTS} characters of arguments: nothing was approved. Deny it, or decide with kubectl motor")
        return self._send(run, ask, {"decision": "ApproveRun" if whole_run else "ApproveOnce", "digest": digest, "reason": reason})

    def deny(self, name: str, id: str, digest: str = "", *, reason: str = "") -> MotorRun:
        """Denies a tool call, by its digest, or a domain, which has none. The run goes on, and its model is told the reason."""
        run, ask = self._find(name, id, ("Approval", "DomainRequest"))
        if ask.kind == "DomainRequest":
            digest = ""
        else:
            self._same(ask, digest)
        return self._send(run, ask, {"decision": "Deny", "digest": digest, "reason": reason})

    def allow_domain(self, name: str, id: str, *, whole_run: bool = False, reason: str = "") -> MotorRun:
        """Lets a run reach the domain that it asks for: once, or until it ends."""
        return self._respond(name, id, ("DomainRequest",), {"decision": "AllowRun" if whole_run else "AllowOnce", "reason": reason})

    def settle(self, name: str, id: str, decision: Literal["Retry", "Done", "Skip"], *, reason: str = "") -> MotorRun:
        """Decides about a call of unknown outcome."""
        return self._respond(name, id, ("OutcomeUnknown",), {"decision": decision, "reason": reason})

    def retry(self, name: str, id: str, guidance: str = "", *, domains: Sequence[str] = ()) -> MotorRun:
        """Starts another attempt of a run whose last one failed. domains are hosts that it may reach from then on; they need the verb approve."""
        return self._respond(name, id, ("Retry",), {"decision": "Retry", "guidance": guidance, "addDomains": list(domains)})

    def stop(self, name: str, id: str, *, reason: str = "") -> MotorRun:
        """Ends a run after an attempt that failed."""
        return self._respond(name, id, ("Retry",), {"decision": "Stop", "reason": reason})

    def _respond(self, name: str, id: str, kinds: Sequence[str], response: dict[str, Any]) -> MotorRun:
        run, ask = self._find(name, id, kinds)
        return self._send(run, ask, response)

    def _find(self, name: str, id: str, kinds: Sequence[str]) -> tuple[MotorRun, Ask]:
        run = self.get(name)
        for ask in self.asks(run):
            if ask.id == id and ask.kind in kinds:
                return run, ask
        self._otherwise(run, id)

    def _otherwise(self, run: MotorRun, id: str) -> NoReturn:
        name = run["metadata"]["name"]
        given = _response(run, id)
        if given:
            raise AlreadyAnswered(f"the run {name} was answered already by {given.get('respondedBy', 'somebody else')}")
        asks = [f"{ask.kind} under the id {ask.id}" for ask in self.asks(run)]
        if asks:
            raise NotAsked(f"the run {name} does not ask that: it asks {', '.join(asks)}")
        status = run.get("status", {})
        if status.get("completionTime"):
            raise NotAsked(f"the run {name} asks nothing any more, it has ended ({status.get('reason')})")
        raise NotAsked(f"the run {name} asks nothing now")

    def _same(self, ask: Ask, digest: str) -> None:
        if digest != ask.digest:
            raise Refused(f"the call that the run {ask.run} asks about has the digest {ask.digest}, and not {digest!r}: nothing was decided. Look at the call, and decide by its digest")

    def _send(self, run: MotorRun, ask: Ask, response: dict[str, Any]) -> MotorRun:
        response = {"id": ask.id} | {key: value for key, value in response.items() if value}
        role = "motorcortex-approver" if ask.kind in ("Approval", "DomainRequest") else "motorcortex-responder"
        for left in reversed(range(_TRIES)):
            try:
                return self._patch(run, [
                    {"op": "test", "path": f"/status/pendingInputs/{_place(run, ask.id)}/id", "value": ask.id},
                    {"op": "add", "path": "/spec/responses/-", "value": response},
                ], f"the run {ask.run} did not take the answer", role)
            except Refused as error:
                now = self.get(ask.run)
                if now["metadata"]["uid"] != run["metadata"]["uid"]:
                    raise Gone(f"the run {ask.run} that asked is gone, and there is another one of its name") from None
                same = next((a for a in self.asks(now) if a.id == ask.id and a.kind == ask.kind), None)
                if not same:
                    self._otherwise(now, ask.id)
                # It asks that still. If its place in the list is another one, or someone wrote at the same time, it is worth another try.
                cause = error.__cause__
                conflict = isinstance(cause, kubernetes.client.ApiException) and cause.status == 409
                if same.digest != ask.digest or not left or not conflict and _place(now, ask.id) == _place(run, ask.id):
                    raise
                run = now
        raise AssertionError("the last try returns or raises")

    # Requests

    def _patch(self, run: MotorRun, changes: list[dict[str, Any]], what: str, role: str) -> MotorRun:
        """Changes the run that was read, and no other one of its name."""
        name = run["metadata"]["name"]
        body = [{"op": "test", "path": "/metadata/uid", "value": run["metadata"]["uid"]}, *changes]
        try:
            return cast(MotorRun, self._send_patch(name, body))
        except (kubernetes.client.ApiException, *_AWAY) as error:
            self._refused(what, error, role)

    def _send_patch(self, name: str, body: list[dict[str, Any]]) -> Any:
        # patch_namespaced_custom_object chooses the kind of patch itself, and versions of it choose a merge patch.
        return self._api.api_client.call_api(
            f"/apis/{_GROUP}/{_VERSION}/namespaces/{{namespace}}/motorruns/{{name}}", "PATCH", {"namespace": self.namespace, "name": name}, [],
            {"Accept": "application/json", "Content-Type": "application/json-patch+json"}, body=body, response_type="object", auth_settings=["BearerToken"],
            _return_http_data_only=True, _request_timeout=REQUEST,
        )

    def _read(self, plural: str, name: str, missing: str) -> Any:
        try:
            return self._api.get_namespaced_custom_object(_GROUP, _VERSION, self.namespace, plural, name, _request_timeout=REQUEST)
        except kubernetes.client.ApiException as error:
            if error.status == 404:
                raise NotFound(f"{missing}: list them") from error
            self._refused(f"get {name}", error, "motorcortex-viewer")
        except _AWAY as error:
            self._refused(f"get {name}", error, "motorcortex-viewer")

    def _refused(self, what: str, error: Exception, role: str) -> NoReturn:
        """Raises an error that says in words why the API server did not do something. role is the ClusterRole that permits it."""
        if not isinstance(error, kubernetes.client.ApiException):
            raise MotorCortexError(f"{what}: the API server does not answer: {error}") from error
        try:
            message = str(json.loads(error.body)["message"])
        except (TypeError, ValueError, KeyError):
            message = str(error.reason)
        if error.status == 404:
            raise NotFound(f"{what}: {message}") from error
        if error.status >= 500:
            raise MotorCortexError(f"{what}: {message}. It may have been done: look before you try again") from error
        _, by_policy, reason = message.partition("denied request: ")
        if error.status == 403 and not by_policy:
            message += f". Have the ClusterRole {role} bound to this account in the namespace {self.namespace}"
        raise Refused(f"{what}: {reason if by_policy else message}") from error


class Watcher:
    """Follows a run. A program that uses Client.watch does not need it."""

    def __init__(self, of: Client, name: str) -> None:
        self._of, self._name, self._seen = of, name, _Seen(of.namespace)
        self._failing: float | None = None
        self._fresh = False

    @property
    def ended(self) -> bool:
        """Whether the last event was that of the end."""
        return self._seen.ended

    def next(self, seconds: float) -> Iterator[Event]:
        """Yields the events of so many seconds, at most up to the end."""
        of, until = self._of, self._of._clock() + seconds
        if self._fresh:
            # A server that ends each watch at once must not be asked without a pause either.
            of._sleep(min(PAUSE, seconds))
        self._fresh = True
        try:
            run = self._read()
            yield from self._seen.tell(run)
            if self.ended:
                return
            for event in self._events(run["metadata"]["resourceVersion"], until - of._clock()):
                if event["type"] == "ERROR":
                    break  # The version is too old, or the server has a problem: what is new is found by reading.
                if event["type"] == "DELETED":
                    raise Gone(f"the run {self._name} was deleted")
                yield from self._seen.tell(cast(MotorRun, event["object"]))
                if self.ended:
                    return
            self._failing = None
        except kubernetes.client.ApiException as error:
            if error.status in (401, 403, 404):
                of._refused(f"watch the run {self._name}", error, "motorcortex-viewer")
            self._failed(error)
        except _AWAY as error:
            self._failed(error)

    def _events(self, version: str, seconds: float) -> Iterator[dict[str, Any]]:
        stream = kubernetes.watch.Watch().stream(
            self._of._api.list_namespaced_custom_object, _GROUP, _VERSION, self._of.namespace, "motorruns", field_selector=f"metadata.name={self._name}",
            resource_version=version, timeout_seconds=max(1, round(seconds)), _request_timeout=(REQUEST, max(0.0, seconds) + REQUEST),
        )
        return cast("Iterator[dict[str, Any]]", stream)

    def _failed(self, error: Exception) -> None:
        now = self._of._clock()
        if self._failing is None:
            self._failing = now
        elif now - self._failing > PATIENCE:
            raise MotorCortexError(f"watch the run {self._name}: {error}") from error

    def _read(self) -> MotorRun:
        of = self._of
        try:
            return cast(MotorRun, of._api.get_namespaced_custom_object(_GROUP, _VERSION, of.namespace, "motorruns", self._name, _request_timeout=REQUEST))
        except kubernetes.client.ApiException as error:
            if error.status == 404 and self._seen.uid:
                raise Gone(f"the run {self._name} was deleted") from error
            raise


class _Seen:
    """Tells what is new of a run."""

    def __init__(self, namespace: str) -> None:
        self.namespace, self.uid, self.ended = namespace, "", False
        self._state: tuple[Any, ...] = ()
        self._asked: dict[str, Ask] = {}

    def tell(self, run: MotorRun) -> Iterator[Event]:
        name, uid, status = run["metadata"]["name"], run["metadata"]["uid"], run.get("status", {})
        if self.uid and self.uid != uid:
            raise Gone(f"the run {name} was deleted, and there is another one of its name")
        self.uid = uid
        ended = bool(status.get("completionTime"))
        state = (status.get("phase"), status.get("reason"), status.get("steps"))
        if state != self._state or not self._state:
            self._state = state
            if not ended:
                yield Event("Changed", run)
        now = {p["id"]: _ask(self.namespace, run, p) for p in _open(run)}
        before, self._asked = self._asked, now
        for id in now.keys() - before.keys():
            yield Event("Asked", run, now[id])
        for id in before.keys() - now.keys():
            yield Event("Answered", run, before[id])
        if ended:
            self.ended = True
            yield Event("Ended", run)


def _acted(ended: MotorRun) -> dict[str, Any]:
    status = ended.get("status", {})
    value = status.get("result", {}).get("value", "")
    if not value:
        return {"ok": False, "error": {"code": status.get("reason", ""), "message": status.get("message", "")}}
    return cast(dict[str, Any], json.loads(value))


def _ask(namespace: str, run: MotorRun, p: PendingInput) -> Ask:
    return Ask(run["metadata"]["name"], namespace, p["id"], p["kind"], p)


def _response(run: MotorRun, id: str) -> MotorRunSpecResponses | None:
    return next((r for r in run["spec"].get("responses", []) if r["id"] == id), None)


def _open(run: MotorRun) -> list[PendingInput]:
    # The operator takes a moment to mark an ask as answered.
    return [p for p in run.get("status", {}).get("pendingInputs", []) if not p.get("answered") and not _response(run, p["id"])]


def _place(run: MotorRun, id: str) -> int:
    return next((i for i, p in enumerate(run.get("status", {}).get("pendingInputs", [])) if p["id"] == id), -1)


def _digest(tool: str, arguments: str) -> str:
    try:
        return args_digest(tool, arguments)
    except RecursionError:
        return ""  # No digest is that of it.
