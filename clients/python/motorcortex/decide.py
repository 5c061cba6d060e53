# SPDX-License-Identifier: Apache-2.0
"""Decisions about exactly what was seen, sent to no other run of that name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, cast

from .asks import Ask, AskRef, asks_of, place_of, response_to
from .digest import args_digest
from .errors import AlreadyAnswered, Gone, MotorCortexError, NotAsked, NotFound, Refused
from .refused import refused
from .transport import Failure, Transport
from .types import MotorRun, MotorStep

# MAX_ARGUMENTS is the most characters of the arguments of a call that is approved: a person is to see all of it.
MAX_ARGUMENTS = 64 << 10

# How often an answer is sent when the run changes at the same time.
_TRIES = 3


@dataclass(frozen=True)
class Decision:
    """What a person decided, and about which ask. whole says that the call must be shown whole."""

    about: AskRef
    kinds: Sequence[str]
    response: Mapping[str, Any]
    digest: str = ""
    whole: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.about, AskRef):
            raise TypeError(f"{self.about!r} is no ask: give the Ask that was shown, or AskRef(run, uid, id) of it")


def read_run(transport: Transport, name: str) -> MotorRun:
    """Reads a run."""
    try:
        return cast(MotorRun, transport.get("motorruns", name))
    except Failure as failure:
        if failure.status == 404:
            raise NotFound(f"there is no run {name} in the namespace {transport.namespace}: list them") from failure
        raise refused(f"get the run {name}", failure, "motorcortex-viewer", transport.namespace) from failure


def decide(transport: Transport, d: Decision) -> MotorRun:
    """Sends a decision. The API server takes it only if the run that was shown still asks that."""
    run = _read(transport, d)
    for left in reversed(range(_TRIES)):
        ask = _checked(transport, d, run)
        response = _response(d, ask.digest)
        try:
            return cast(MotorRun, transport.patch("motorruns", d.about.run, _changes(run, ask, response)))
        except Failure as failure:
            why = refused(f"the run {d.about.run} did not take the answer", failure, _role(ask), transport.namespace)
            lost = failure.sent and not isinstance(why, (Refused, NotFound)) and failure.status != 429
            if not lost and not isinstance(why, Refused):
                raise why from failure
            now = _after(transport, d, why)
            if lost and _says(now, response):
                return now  # The answer of the API server was lost, and not that of the person.
            _find(transport.namespace, d, now)
            # It asks that still. If its place in the list is another one, or someone wrote at the same time, it is worth another try.
            if lost or not left or failure.status != 409 and place_of(now, ask.id) == place_of(run, ask.id):
                raise why from failure
            run = now
    raise AssertionError("the last try returns or raises")


def _read(transport: Transport, d: Decision) -> MotorRun:
    run = read_run(transport, d.about.run)
    if run["metadata"]["uid"] != d.about.uid:
        raise Gone(f"the run {d.about.run} that asked is gone, and there is another one of its name: nothing was decided")
    return run


def _after(transport: Transport, d: Decision, why: Exception) -> MotorRun:
    """Reads the run again after an error, which stays the error if the run cannot be read."""
    try:
        return _read(transport, d)
    except Gone:
        raise
    except MotorCortexError:
        raise why from None


def _checked(transport: Transport, d: Decision, run: MotorRun) -> Ask:
    ask = _find(transport.namespace, d, run)
    if ask.kind != "Approval":
        return ask
    if d.digest != ask.digest:
        raise Refused(
            f"the call that the run {ask.run} asks about has the digest {ask.digest}, and not {d.digest!r}: nothing was decided. Look at the call, and decide "
            "by its digest",
        )
    if d.whole and len(arguments_of(transport, ask)) > MAX_ARGUMENTS:
        raise Refused(
            f"the call that the run {ask.run} asks about has over {MAX_ARGUMENTS} characters of arguments: nothing was approved. Deny it, or decide with "
            "kubectl motor",
        )
    return ask


def _find(namespace: str, d: Decision, run: MotorRun) -> Ask:
    for ask in asks_of(namespace, run):
        if ask.id == d.about.id and ask.kind in d.kinds:
            return ask
    _otherwise(namespace, d, run)


def _otherwise(namespace: str, d: Decision, run: MotorRun) -> NoReturn:
    name, status = d.about.run, run.get("status", {})
    given = response_to(run, d.about.id)
    if given:
        by = given.get("respondedBy", "another account")
        # A domain that is denied has no digest, whatever the program gave.
        if any(_says(run, _response(d, digest)) for digest in {d.digest, ""}):
            raise AlreadyAnswered(
                f"the run {name} has this very answer already, by {by}: nothing more is to be done. If that is your account, an earlier try sent it", True,
            )
        raise AlreadyAnswered(f"the run {name} was answered already by {by}")
    asks = [f"{ask.kind} under the id {ask.id}" for ask in asks_of(namespace, run)]
    if asks:
        raise NotAsked(f"the run {name} does not ask that: it asks {', '.join(asks)}")
    if status.get("completionTime"):
        raise NotAsked(f"the run {name} asks nothing any more, it has ended ({status.get('reason')})")
    raise NotAsked(f"the run {name} asks nothing now")


def _response(d: Decision, digest: str) -> dict[str, Any]:
    """The response as it is sent, and as the run has it then."""
    return {"id": d.about.id} | {key: value for key, value in {**d.response, "digest": digest}.items() if value}


def _says(run: MotorRun, response: Mapping[str, Any]) -> bool:
    """Reports whether a run has this very response. The API server adds who sent it."""
    given = response_to(run, response["id"])
    return given is not None and {key: value for key, value in given.items() if value and key != "respondedBy"} == response


def _changes(run: MotorRun, ask: Ask, response: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {"op": "test", "path": "/metadata/uid", "value": ask.uid},
        {"op": "test", "path": f"/status/pendingInputs/{place_of(run, ask.id)}/id", "value": ask.id},
        {"op": "add", "path": "/spec/responses/-", "value": response},
    ]


def _role(ask: Ask) -> str:
    return "motorcortex-approver" if ask.kind in ("Approval", "DomainRequest") else "motorcortex-responder"


def arguments_of(transport: Transport, ask: Ask) -> str:
    """Returns the arguments of the call of an ask, whole, if they are those of its digest."""
    action = ask.input.get("action")
    if not action:
        raise Refused(f"the ask {ask.id} does not say which call it is about")
    arguments, tool, digest = action.get("arguments", ""), action["tool"], ask.digest
    if args_digest(tool, arguments) == digest:
        return arguments
    name = ask.input.get("stepName", "")
    try:
        step = cast(MotorStep, transport.get("motorsteps", name))
    except Failure as failure:
        if failure.status == 404:
            raise NotFound(f"there is no step {name} in the namespace {ask.namespace}: look whether the run {ask.run} still asks") from failure
        raise refused(f"get the step {name}", failure, "motorcortex-viewer", ask.namespace) from failure
    calls = [a.get("callID") for a in step.get("status", {}).get("asks", []) if a["id"] == ask.id]
    for call in step["spec"].get("toolCalls", []):
        if call["id"] in calls and args_digest(tool, call.get("arguments", "")) == digest:
            return call.get("arguments", "")
    raise Refused(f"the step {name} does not have the call of the ask {ask.id} with the digest {digest}")
