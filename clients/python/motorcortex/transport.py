# SPDX-License-Identifier: Apache-2.0
"""Requests to the API server, by the official client."""

import copy
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeVar, cast

import kubernetes.client
import kubernetes.config
import urllib3.exceptions

_GROUP, _VERSION = "motorcortex.dev", "v1alpha1"

# The errors of a request that was sent and has no answer, or half of one; and those of one that was not sent.
_AWAY = (urllib3.exceptions.HTTPError, OSError)
_NOT_SENT = (urllib3.exceptions.NewConnectionError, urllib3.exceptions.ConnectTimeoutError)

# How long a request may take, with all of its tries. Seconds.
REQUEST = 30
# How often a request is sent that can be sent again, and the pause between two tries in seconds.
TRIES, PAUSE = 3, 1.0

# The longest event of a watch that is read, in bytes. An API server stores no larger objects.
MAX_EVENT = 8 << 20

Plural = Literal["motorruns", "motorsteps", "motorcortices"]

_T = TypeVar("_T")


class Failure(Exception):
    """A request that failed. status is that of HTTP, and 0 if there was no answer. sent is false if it cannot have reached the server."""

    def __init__(self, status: int, message: str, *, sent: bool = True, unreadable: bool = False) -> None:
        super().__init__(message)
        self.status, self.sent, self.unreadable = status, sent, unreadable


class Transport:
    """What a client needs of an API server. Each method raises a Failure. It is safe for use by several threads."""

    def __init__(
        self, namespace: str, configuration: "kubernetes.client.Configuration | Callable[[], kubernetes.client.Configuration] | None",
        clock: Callable[[], float], sleep: Callable[[float], object],
    ) -> None:
        self.namespace, self.clock, self.sleep = namespace, clock, sleep
        self._configuration = configuration
        self._lock = threading.Lock()
        self._api = self._connect()

    def get(self, plural: Plural, name: str, *, tries: int = TRIES) -> dict[str, Any]:
        return self._request(lambda api, seconds: _checked(plural, api.get_namespaced_custom_object(
            _GROUP, _VERSION, self.namespace, plural, name, _request_timeout=seconds,
        )), reads=True, tries=tries)

    def page(self, plural: Plural, limit: int, token: str) -> tuple[list[Any], str]:
        """Returns a page, and the token of the next one, "" after the last."""
        return self._request(lambda api, seconds: _page(plural, api.list_namespaced_custom_object(
            _GROUP, _VERSION, self.namespace, plural, limit=limit, _continue=token, _request_timeout=seconds,
        )), reads=True)

    def create(self, plural: Plural, body: Mapping[str, Any]) -> dict[str, Any]:
        return self._request(lambda api, seconds: _checked(plural, api.create_namespaced_custom_object(
            _GROUP, _VERSION, self.namespace, plural, body, _request_timeout=seconds,
        )))

    def patch(self, plural: Plural, name: str, changes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        # patch_namespaced_custom_object chooses the kind of patch itself, and versions of it choose a merge patch.
        return self._request(lambda api, seconds: _checked(plural, api.api_client.call_api(
            f"/apis/{_GROUP}/{_VERSION}/namespaces/{{namespace}}/{plural}/{{name}}", "PATCH", {"namespace": self.namespace, "name": name}, [],
            {"Accept": "application/json", "Content-Type": "application/json-patch+json"}, body=list(changes), response_type="object",
            auth_settings=["BearerToken"], _return_http_data_only=True, _request_timeout=seconds,
        )))

    def watch(self, plural: Plural, name: str, version: str, seconds: float) -> Iterator[tuple[str, Any]]:
        """Yields what happens to an object after a version of it, for so many seconds at most: the type of each event, and the object.

        kubernetes.watch decodes each part of a stream by itself, and fails where a character is in two of them.
        """
        def begin(api: Any) -> Any:
            return api.list_namespaced_custom_object(
                _GROUP, _VERSION, self.namespace, plural, field_selector=f"metadata.name={name}", resource_version=version, watch=True,
                timeout_seconds=max(1, round(seconds)), _preload_content=False, _request_timeout=(REQUEST, max(0.0, seconds) + REQUEST),
            )

        response = self._known(begin)
        try:
            for line in _lines(response):
                yield _event(plural, line)
        except _AWAY as error:
            raise Failure(0, str(error)) from error
        finally:
            response.close()
            response.release_conn()

    def _connect(self) -> Any:
        given = self._configuration
        configuration = _of_the_machine() if given is None else copy.copy(given() if callable(given) else given)
        # urllib3 would send most requests four times, each for the whole time of one.
        configuration.retries = False
        return kubernetes.client.CustomObjectsApi(kubernetes.client.ApiClient(configuration))

    def _request(self, send: Callable[[Any, int], _T], *, reads: bool = False, tries: int = TRIES) -> _T:
        """Sends a request, and again if that cannot do it twice: one that reads, that the server had no time for, or that did not reach it."""
        until = self.clock() + REQUEST
        while True:
            left = max(1, int(until - self.clock()))
            try:
                return self._known(lambda api: send(api, left))
            except Failure as failure:
                tries -= 1
                again = failure.status == 429 or not failure.sent or reads and (failure.status == 0 or failure.status >= 500)
                if not again or tries <= 0 or self.clock() + PAUSE >= until:
                    raise
            self.sleep(PAUSE)

    def _known(self, send: Callable[[Any], _T]) -> _T:
        """Sends a request, and again with the configuration as it is now if the server does not know the account: tokens are replaced."""
        api = self._api
        try:
            return _sent(api, send)
        except Failure as failure:
            if failure.status != 401:
                raise
        return _sent(self._reload(api), send)

    def _reload(self, old: Any) -> Any:
        with self._lock:
            if self._api is old:
                try:
                    self._api = self._connect()
                except (kubernetes.config.ConfigException, OSError) as error:
                    raise Failure(401, f"the configuration cannot be read again: {error}") from error
            return self._api


def _of_the_machine() -> Any:
    configuration = kubernetes.client.Configuration()
    try:
        kubernetes.config.load_incluster_config(configuration)
    except kubernetes.config.ConfigException:
        kubernetes.config.load_kube_config(client_configuration=configuration)
    return configuration


def _sent(api: Any, send: Callable[[Any], _T]) -> _T:
    try:
        return send(api)
    except kubernetes.client.ApiException as error:
        raise Failure(error.status or 0, _message(error)) from error
    except kubernetes.config.ConfigException as error:  # A token is read when a request is made.
        raise Failure(401, str(error)) from error
    except _NOT_SENT as error:
        raise Failure(0, str(error), sent=False) from error
    except _AWAY as error:
        raise Failure(0, str(error)) from error
    except (ValueError, RecursionError) as error:  # Bytes that are no text, or JSON that is nested without end.
        raise Failure(0, str(error), unreadable=True) from error


def _message(error: Any) -> str:
    """The message of a Status, or the reason of HTTP."""
    try:
        return str(json.loads(error.body)["message"])
    except (TypeError, ValueError, KeyError, RecursionError):
        return str(error.reason)


def _lines(response: Any) -> Iterator[bytes]:
    """Yields whole lines. The rest after the last line break is of a stream that was cut: it is left out."""
    rest = b""
    for part in response.stream(amt=None, decode_content=False):
        *lines, rest = (rest + part).split(b"\n")
        for line in lines:
            if line.strip():
                yield line
        if len(rest) > MAX_EVENT:
            raise Failure(0, f"an event of the watch has over {MAX_EVENT} bytes", unreadable=True)


def _event(plural: Plural, line: bytes) -> tuple[str, Any]:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise Failure(0, f"an event of the watch is no JSON: {error}", unreadable=True) from error
    if not isinstance(event, dict) or not isinstance(event.get("type"), str):
        raise Failure(0, f"an event of the watch has no type: {_head(event)}", unreadable=True)
    if event["type"] in ("ADDED", "MODIFIED", "DELETED"):
        _checked(plural, event.get("object"))
    return event["type"], event.get("object")


def _page(plural: Plural, value: Any) -> tuple[list[Any], str]:
    metadata = value.get("metadata") if isinstance(value, dict) else None
    if not isinstance(metadata, dict) or not isinstance(value.get("items"), list) or not isinstance(metadata.get("continue", ""), str):
        raise Failure(0, f"it is no list: {_head(value)}", unreadable=True)
    return [_checked(plural, item) for item in value["items"]], metadata.get("continue", "")


def _checked(plural: Plural, value: Any) -> dict[str, Any]:
    """Returns an object that has all that this package reads without a look. The official client returns a text that is no JSON as it is."""
    metadata = value.get("metadata") if isinstance(value, dict) else None
    if not isinstance(metadata, dict) or not all(isinstance(metadata.get(key), str) for key in ("name", "uid", "resourceVersion")):
        raise Failure(0, f"it is no object of the kind {plural}: {_head(value)}", unreadable=True)
    spec, status = value.get("spec"), value.get("status", {})
    if plural == "motorcortices":
        _check_bound(value["metadata"]["name"], spec)
        return cast(dict[str, Any], value)
    parts = (
        ((spec, "responses", ("id",)), (status, "pendingInputs", ("id", "kind")), (status, "conditions", ("type", "status"))) if plural == "motorruns" else
        ((spec, "toolCalls", ("id",)), (status, "asks", ("id",)))
    )
    for part, key, needs in parts:
        entries = part.get(key) or [] if isinstance(part, dict) else None
        if not isinstance(entries, list) or not all(isinstance(e, dict) and all(isinstance(e.get(need), str) for need in needs) for e in entries):
            raise Failure(0, f"{plural} {metadata['name']} has no readable {key}", unreadable=True)
    return cast(dict[str, Any], value)


def _check_bound(name: str, spec: Any) -> None:
    bound = spec.get("concurrency") if isinstance(spec, dict) else None
    if not isinstance(spec, dict) or bound is not None and not (isinstance(bound, dict) and isinstance(bound.get("maxActive", 1), int)):
        raise Failure(0, f"motorcortices {name} has no readable spec", unreadable=True)


def _head(value: Any) -> str:
    return ascii(value)[:100]
