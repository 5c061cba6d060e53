#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures what a tool call costs beside what it starts, and how long a Oneshot run takes, on the development cluster. Prints the
# figures; everything else is in dist/figures-tools.log.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
cd "$ROOT"

[ "$DEMO_CLUSTER" = devcluster ] || die "figures are measured on the development cluster"
borrow_cluster
build_images manager sandbox modelserver egressproxy
deploy_operator
say "load of this machine before: $(cut -d ' ' -f 1-3 /proc/loadavg)"
# The test speaks to a sandbox itself, as a manager does, so it runs inside the cluster's network.
run_tests figures-tools e2e,figures -run '^TestFigures' -exec "$OUT/bin/devcluster exec --" "$@"
sed -n 's/^ *figures_test.go:[0-9]*: //p' "$OUT/figures-tools.log"
