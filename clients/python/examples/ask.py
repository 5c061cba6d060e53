# SPDX-License-Identifier: Apache-2.0
"""Has a task carried out, and lets a person at the terminal decide what it asks.

    python3 ask.py NAMESPACE "Which colour should the door be?" --model scripted/colour
"""

import argparse
import sys

from motorcortex import Client, Timeout
from motorcortex.types import MotorRun


def waits_for(run: MotorRun) -> str:
    """Says what a run waits for that is no person, such as a model that cannot be reached. It is empty if the run goes on."""
    status = run.get("status", {})
    reason = status.get("reason", "")
    if any(c["status"] == "False" and c["reason"] == reason for c in status.get("conditions", [])):
        return f"{reason}: {status.get('message', '')}"
    return ""


def until_asked(client: Client, name: str, timeout: float) -> MotorRun:
    """Returns the run when it asks something or has ended, and prints meanwhile what else it waits for."""
    said = ""
    for event in client.watch(name, timeout=timeout):
        if event.type == "Ended" or client.asks(event.run):
            return event.run
        waits = waits_for(event.run)
        if waits and waits != said:
            # ascii() keeps a text of a model from moving the cursor.
            print("it waits:", ascii(waits), file=sys.stderr, flush=True)
        said = waits
    raise Timeout(f"the watch of {name} has ended")


def converse(client: Client, name: str, timeout: float) -> int:
    while True:
        run = until_asked(client, name, timeout)
        for ask in client.asks(run):
            if ask.kind == "Question":
                client.answer(ask, input(ascii(ask.question) + "\n"))
            elif ask.kind == "Approval":
                print("It wants to do this:", ascii(client.arguments(ask)))
                if input("yes or no?\n") == "yes":
                    client.approve(ask, ask.digest)
                else:
                    client.deny(ask, ask.digest, reason="A person said no.")
            else:
                print("It waits for something else:", ask.kind)
                return 2
        if "completionTime" in run.get("status", {}):
            result = run["status"].get("result", {})
            print(ascii(result.get("summary", run["status"].get("message", ""))))
            return 0 if result.get("ok") else 1


def main() -> int:
    arguments = argparse.ArgumentParser(description="Has a task carried out, and lets a person at the terminal decide what it asks.")
    arguments.add_argument("namespace")
    arguments.add_argument("task")
    arguments.add_argument("--model", default="", help="a model of the MotorCortex of the namespace; without it the run has the default one")
    arguments.add_argument("--timeout", type=float, default=600, help="seconds that the run may take until it asks something or ends; 600 if it is not given")
    given = arguments.parse_args()
    client = Client(given.namespace)
    name = client.run(given.task, tools=["read", "bash"], approval="Irreversible", model=given.model)["metadata"]["name"]
    print("started", name, flush=True)
    try:
        return converse(client, name, given.timeout)
    except Timeout as over:
        print(f"{over}: kubectl motor why {name} -n {given.namespace}", file=sys.stderr)
        return 3


if __name__ == "__main__":
    sys.exit(main())
