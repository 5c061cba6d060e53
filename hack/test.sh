#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Everything that must pass, the quick parts first.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
cd "$ROOT"

TIMES=()
times() {
	say "what each part took"
	printf '%s\n' "${TIMES[@]}"
}

part() {
	local name=$1 began=$SECONDS
	say "── $name"
	shift
	"$@" || {
		times
		die "$*"
	}
	TIMES+=("$(printf '%5d s  %s' $((SECONDS - began)) "$name")")
}

need git git gcc gcc python3 python3 ip iproute2 rg ripgrep pip3 python3-pip promtool prometheus chromium chromium
[ -e /usr/include/stdio.h ] || need stdio.h libc6-dev # The race detector is linked with C.
need_node
part "programs of the cluster" devcluster build
part "generated files" make --no-print-directory verify
part "unit tests" make --no-print-directory test-unit
part "unit tests of the development cluster" make --no-print-directory test-devcluster
part "unit tests of the evaluation" make --no-print-directory test-eval
part "the page in a browser" make --no-print-directory test-page
part "clients in other languages" make --no-print-directory test-clients
part "drivers of the archive" make --no-print-directory test-stores
part "API-server tests" make --no-print-directory test-api
part "tests beside the last release" make --no-print-directory test-skew
part "lint" make --no-print-directory lint
borrow_cluster # The parts below find it up and leave it so.
part "end-to-end tests" make --no-print-directory test-e2e
part "security tests" make --no-print-directory test-security
part "fault tests" make --no-print-directory test-faults
part "tests of the archive" make --no-print-directory test-archive
times
say "everything passed"
