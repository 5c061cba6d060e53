#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures what a tool call costs beside what it starts, and how long a Oneshot run takes, on the development cluster. Prints the
# figures; everything else is in dist/figures-tools.log.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
cd "$ROOT"

borrow_cluster
build_images manager sandbox modelserver egressproxy
deploy_operator
say "load of this machine before: $(cut -d ' ' -f 1-3 /proc/loadavg)"
run_tests figures-tools e2e,figures -run '^TestFigures' "$@"
grep -o 'p50 of .*\|spawn of .*' "$OUT/figures-tools.log" >/dev/null && sed -n 's/^ *figures_test.go:[0-9]*: //p' "$OUT/figures-tools.log"
