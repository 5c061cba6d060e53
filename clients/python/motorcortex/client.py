# SPDX-License-Identifier: Apache-2.0
"""The client. It works in one namespace, and it is safe for use by several threads."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, cast

import kubernetes.client

from .asks import Ask, AskRef, asks_of
from .busy import check_place
from .decide import Decision, arguments_of, decide, read_run
from .errors import MotorCortexError, Refused, Unreadable
from .refused import refused
from .transport import Failure, Transport
from .types import MotorRun
from .watch import PAUSE, QUIET, Event, Watcher

_PAGE = 500


class Client:
    """A client for the runs of a namespace.

    Without a configuration it takes that of the Pod, or the kubeconfig. A function that returns a configuration is called again when the API server does not
    know the account any more, as the other two are read again: a token is replaced before its end.
    """

    def __init__(
        self, namespace: str, configuration: "kubernetes.client.Configuration | Callable[[], kubernetes.client.Configuration] | None" = None,
        clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        if not namespace:
            raise ValueError("the namespace is empty: name the one in which runs are created")
        self.namespace = namespace
        self._transport = Transport(namespace, configuration, clock, sleep)

    # Runs

    def run(
        self, task: str, *, name: str = "", tools: Sequence[str] = (), domains: Sequence[str] = (), skill: str = "", inputs: Mapping[str, Any] | None = None,
        files: Mapping[str, str] | None = None, model: str = "", approval: Literal["", "Never", "Irreversible", "Always"] = "",
        spec: Mapping[str, Any] | None = None, queue: bool = True,
    ) -> MotorRun:
        """Creates a run and returns it. files are texts for the workspace by their paths. spec has any other fields of a MotorRun's spec.

        Where the MotorCortex of the namespace has no place for a run now, the run waits for one. With queue=False, or where runs must not wait, BusyError
        is raised instead. Two calls in the same instant can both find a place: then the API server decides.

        A request without an answer raises MotorCortexError: the run may have been created. Give it a name to be able to try again.
        """
        body: dict[str, Any] = dict(spec or {})
        body["task"] = _task(task)
        if tools:
            body["tools"] = _texts("tools", tools)
        if domains:
            body["domains"] = _texts("domains", domains)
        if skill:
            body["skillRef"] = {"name": skill}
        if inputs:
            body["inputs"] = [{"name": key, "value": value if isinstance(value, str) else json.dumps(value)} for key, value in _named("inputs", inputs).items()]
        if files:
            body["files"] = [{"path": path, "content": content} for path, content in _named("files", files).items()]
        if model:
            body["model"] = {"name": model}
        if approval:
            body["approval"] = {"required": approval}
        if body.get("mode", "Agentic") == "Agentic":
            check_place(self._transport, self.runs(), queue)
        return self._create(body, name)

    def act(
        self, task: str, source: str, language: Literal["javascript", "python"] = "javascript", *, domains: Sequence[str] = (), timeout: float = 120,
    ) -> dict[str, Any]:
        """Runs a program in a sandbox without a model, waits for its end, and returns what it came to: ok, value, console and error.

        task says for people what it is for. timeout is in seconds; when it is over, Timeout is raised, and the run goes on.
        """
        return _acted(self.wait(self._act(task, source, language, domains)["metadata"]["name"], timeout=timeout))

    def _act(self, task: str, source: str, language: str, domains: Sequence[str]) -> MotorRun:
        spec: dict[str, Any] = {"mode": "Oneshot", "code": {"language": language, "source": source, "purpose": _task(task)}}
        if domains:
            spec["domains"] = _texts("domains", domains)
        return self._create(spec)

    def _create(self, spec: Mapping[str, Any], name: str = "") -> MotorRun:
        metadata = {"name": name} if name else {"generateName": "run-"}
        what = f"create a run in the namespace {self.namespace}"
        try:
            return cast(MotorRun, self._transport.create("motorruns", {
                "apiVersion": "motorcortex.dev/v1alpha1", "kind": "MotorRun", "metadata": metadata, "spec": dict(spec),
            }))
        except Failure as failure:
            if failure.status == 0 and failure.sent and not failure.unreadable:
                raise MotorCortexError(f"{what}: {failure}. It may have been created: list the runs before you try again") from failure
            raise refused(what, failure, "motorcortex-editor", self.namespace) from failure

    def get(self, name: str) -> MotorRun:
        """Reads a run."""
        return read_run(self._transport, name)

    def runs(self) -> Iterator[MotorRun]:
        """Yields the runs of the namespace. It reads 500 in a request."""
        token = ""
        while True:
            page, token = self._page(token)
            yield from page
            if not token:
                return

    def _page(self, token: str) -> tuple[list[MotorRun], str]:
        try:
            return self._transport.page("motorruns", _PAGE, token)
        except Failure as failure:
            raise refused(f"list the runs of the namespace {self.namespace}", failure, "motorcortex-viewer", self.namespace) from failure

    def cancel(self, name: str) -> MotorRun:
        """Ends a run, in any phase, for ever."""
        run = self.get(name)
        if run.get("status", {}).get("completionTime"):
            raise Refused(f"the run {name} has ended ({run['status'].get('reason')}): there is nothing to cancel")
        try:
            return cast(MotorRun, self._transport.patch("motorruns", name, [
                {"op": "test", "path": "/metadata/uid", "value": run["metadata"]["uid"]}, {"op": "add", "path": "/spec/cancel", "value": True},
            ]))
        except Failure as failure:
            raise refused(f"cancel the run {name}", failure, "motorcortex-editor", self.namespace) from failure

    # Following

    def watch(self, name: str, *, timeout: float | None = None) -> Iterator[Event]:
        """Yields what happens to a run, from how it stands now until it has ended.

        Events that follow each other quickly can come as one. A watch that the API server ends, or whose connection is lost, is begun again; after a minute
        in which neither a read nor an event came, the error is raised. timeout is in seconds.
        """
        clock, sleep = self._transport.clock, self._transport.sleep
        deadline = None if timeout is None else clock() + timeout
        watcher = Watcher(self._transport, name)
        first = True
        while not watcher.ended:
            left = QUIET if deadline is None else deadline - clock()
            if not first and left > 0:
                # A server that ends each watch at once must not be asked without a pause either.
                sleep(min(PAUSE, left))
                left -= PAUSE
            first = False
            if left <= 0:
                raise watcher.over()
            yield from watcher.next(min(left, QUIET))

    def wait(self, name: str, *, until_asked: bool = False, timeout: float | None = None) -> MotorRun:
        """Returns the run when it has ended. With until_asked it also returns when the run waits for a person. timeout is in seconds."""
        for event in self.watch(name, timeout=timeout):
            if event.type == "Ended" or until_asked and self.asks(event.run):
                return event.run
        raise MotorCortexError(f"the watch of the run {name} ended without an event")

    # Answers

    def asks(self, run: MotorRun) -> list[Ask]:
        """Returns what a run waits for that has no answer yet."""
        return asks_of(self.namespace, run)

    def inbox(self) -> list[Ask]:
        """Returns what the runs of the namespace wait for, those first that expire first."""
        asks = [ask for run in self.runs() for ask in self.asks(run)]
        return sorted(asks, key=lambda ask: ask.input.get("expirationTime", "9"))

    def arguments(self, ask: Ask) -> str:
        """Returns the arguments of the call that an ask is about, whole, if they are those of its digest.

        The status of a run has the beginning and the end of long ones. The rest needs the right to read steps.
        """
        return arguments_of(self._transport, ask)

    def answer(self, ask: AskRef, answer: str) -> MotorRun:
        """Answers a question. ask is the one that was shown: an answer reaches no other run of its name, and nothing that the run asks by now."""
        return self._decide(Decision(ask, ("Question",), {"answer": answer}))

    def approve(self, ask: AskRef, digest: str, *, whole_run: bool = False, reason: str = "") -> MotorRun:
        """Approves the tool call with that digest, as the person saw it.

        With whole_run it approves every further call of the same tool by the same rule, too. A call that cannot be shown whole is refused.
        """
        decision = "ApproveRun" if whole_run else "ApproveOnce"
        return self._decide(Decision(ask, ("Approval",), {"decision": decision, "reason": reason}, digest, whole=True))

    def deny(self, ask: AskRef, digest: str = "", *, reason: str = "") -> MotorRun:
        """Denies a tool call, by its digest, or a domain, which has none. The run goes on, and its model is told the reason."""
        return self._decide(Decision(ask, ("Approval", "DomainRequest"), {"decision": "Deny", "reason": reason}, digest))

    def allow_domain(self, ask: AskRef, *, whole_run: bool = False, reason: str = "") -> MotorRun:
        """Lets a run reach the domain that it asks for: once, or until it ends."""
        return self._decide(Decision(ask, ("DomainRequest",), {"decision": "AllowRun" if whole_run else "AllowOnce", "reason": reason}))

    def settle(self, ask: AskRef, decision: Literal["Retry", "Done", "Skip"], *, reason: str = "") -> MotorRun:
        """Decides about a call of unknown outcome."""
        return self._decide(Decision(ask, ("OutcomeUnknown",), {"decision": decision, "reason": reason}))

    def retry(self, ask: AskRef, guidance: str = "", *, domains: Sequence[str] = ()) -> MotorRun:
        """Starts another attempt of a run whose last one failed. domains are hosts that it may reach from then on; they need the verb approve."""
        return self._decide(Decision(ask, ("Retry",), {"decision": "Retry", "guidance": guidance, "addDomains": _texts("domains", domains)}))

    def stop(self, ask: AskRef, *, reason: str = "") -> MotorRun:
        """Ends a run after an attempt that failed."""
        return self._decide(Decision(ask, ("Retry",), {"decision": "Stop", "reason": reason}))

    def _decide(self, decision: Decision) -> MotorRun:
        return decide(self._transport, decision)


def _task(task: str) -> str:
    if not task.strip():
        raise ValueError("the task is empty")
    return task


def _texts(what: str, texts: Sequence[str]) -> list[str]:
    """A text is a sequence of texts, too: its characters would become the list."""
    if isinstance(texts, str):
        raise TypeError(f"{what} is the text {texts!r}: give a list, as in {what}=[{texts!r}]")
    wrong = next((text for text in texts if not isinstance(text, str)), None)
    if wrong is not None:
        raise TypeError(f"{what} has {wrong!r}, which is no text")
    return list(texts)


def _named(what: str, values: Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(values, Mapping):
        raise TypeError(f"{what} is {values!r}: give a dict with a name for each")
    return values


def _acted(ended: MotorRun) -> dict[str, Any]:
    status = ended.get("status", {})
    text = status.get("result", {}).get("value", "")
    if not text:
        return {"ok": False, "error": {"code": status.get("reason", ""), "message": status.get("message", "")}}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _no_result(ended, str(error)) from error
    if not isinstance(value, dict):
        raise _no_result(ended, "it is no object")
    return value


def _no_result(ended: MotorRun, why: str) -> Unreadable:
    return Unreadable(f"the result of the run {ended['metadata']['name']} cannot be read: {why}. Look at status.result.value of the run")
