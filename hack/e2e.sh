#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# End-to-end tests on the chosen cluster. A development cluster that was not up before is removed afterwards.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
cd "$ROOT"

if [ "$DEMO_CLUSTER" = devcluster ] && ! ip netns list 2>/dev/null | grep -q '^motorcortex-devcluster'; then
	trap 'devcluster down' EXIT
	trap 'exit 130' INT TERM
fi
use_cluster
build_images manager sandbox modelserver
deploy_operator
say "operator ready; running the end-to-end tests"
export MANAGER_IMAGE SANDBOX_IMAGE MODELSERVER_IMAGE
go test -tags e2e -count=1 -timeout 25m -v ./test/e2e/... 2>&1 | tee "$OUT/e2e.log" | grep --line-buffered -E '^(=== RUN|--- |\s+--- |ok|FAIL|PASS|panic)' || {
	tail -n 200 "$OUT/e2e.log"
	die "end-to-end tests failed; all of their output is in ${OUT#"$ROOT"/}/e2e.log"
}
say "end-to-end tests passed"
