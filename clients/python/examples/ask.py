# SPDX-License-Identifier: Apache-2.0
"""Has a task carried out, and lets a person at the terminal decide what it asks.

    python3 ask.py NAMESPACE "Which colour should the door be?"
"""

import sys

from motorcortex import Client


def main(namespace: str, task: str) -> int:
    client = Client(namespace)
    name = client.run(task, tools=["read", "bash"], approval="Irreversible")["metadata"]["name"]
    print("started", name, flush=True)
    while True:
        run = client.wait(name, until_asked=True, timeout=600)
        for ask in client.asks(run):
            if ask.kind == "Question":
                # ascii() keeps a text of a model from moving the cursor.
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


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
