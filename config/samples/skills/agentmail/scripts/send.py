#!/usr/bin/env python3
"""Sends one message through the AgentMail API and prints its id."""
import argparse
import json
import os
import sys
import urllib.error
import urllib.request

API = "https://api.agentmail.test"
PATH = "/v1/send"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", required=True)
    parser.add_argument("--subject", required=True)
    parser.add_argument("--text", default="")
    args = parser.parse_args()
    request = urllib.request.Request(
        API + PATH,
        data=json.dumps({"to": args.to, "subject": args.subject, "text": args.text}).encode(),
        headers={"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["AGENTMAIL_API_KEY"]},
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            print(json.load(answer)["id"])
    except urllib.error.HTTPError as e:
        sys.exit(f"{e.code} {PATH}: {e.read().decode(errors='replace')}")


if __name__ == "__main__":
    main()
