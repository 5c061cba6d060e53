#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests of the clients that are not of Go, without a cluster. The Python of Debian has the official client as a package.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
cd "$ROOT/clients/python"

need mypy mypy
/usr/bin/python3 -c 'import kubernetes' 2>/dev/null || need python3-kubernetes python3-kubernetes
export PYTHONDONTWRITEBYTECODE=1
say "types of the Python client"
mypy --cache-dir="$OUT/mypy" motorcortex examples
say "tests of the Python client"
PYTHONPATH=. /usr/bin/python3 -m unittest discover -s tests
