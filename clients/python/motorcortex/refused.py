# SPDX-License-Identifier: Apache-2.0
"""Errors that say in words why the API server did not do something."""

from .errors import MotorCortexError, NotFound, Refused, Unreadable
from .transport import Failure


def refused(what: str, failure: Failure, role: str, namespace: str) -> MotorCortexError:
    """Returns the error of a request that failed. role is the ClusterRole that permits it."""
    status, message = failure.status, str(failure)
    if failure.unreadable:
        return Unreadable(
            f"{what}: the answer cannot be read: {message}. Look whether the server of the configuration is an API server, and whether a proxy answers for it",
        )
    if status == 0:
        return MotorCortexError(f"{what}: the API server does not answer: {message}")
    if status == 401:
        return Refused(
            f"{what}: the API server does not know the account ({message}), although the configuration was read again. Its token is not valid any more: "
            "log in again, or give the client a function that returns a configuration with a new token",
        )
    if status == 404:
        return NotFound(f"{what}: {message}")
    if status == 429:
        return MotorCortexError(f"{what}: the API server has too much to do: {message}. Try again later")
    if status >= 500:
        # A viewer changes nothing.
        return MotorCortexError(f"{what}: {message}. " + ("Try again" if role == "motorcortex-viewer" else "It may have been done: look before you try again"))
    _, by_policy, reason = message.partition("denied request: ")
    if by_policy:
        return Refused(f"{what}: {reason}")
    if status == 403:
        message += f". Have the ClusterRole {role} bound to this account in the namespace {namespace}"
    return Refused(f"{what}: {message}")
