#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures the figures of docs/performance.md: the demo with everything built and the cluster up, several times on a machine that
# does nothing else. Writes dist/figures.json of the last time.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
cd "$ROOT"
[ "$DEMO_CLUSTER" = devcluster ] || die "figures are measured on the development cluster"

hack/demo.sh </dev/null >/dev/null # Builds and starts what is missing, so that what follows is warm.

# manager_rss is the memory of the larger of the two replicas, the one that leads, in bytes.
manager_rss() {
	local status largest=0 kib
	for status in /proc/[0-9]*/status; do
		[ "$(readlink "${status%status}exe" 2>/dev/null)" = /manager ] || continue
		kib=$(awk '/^VmRSS/ {print $2}' "$status")
		[ "${kib:-0}" -gt "$largest" ] && largest=$kib
	done
	echo $((largest * 1024))
}

for i in 1 2 3; do
	say "── measurement $i of 3"
	unset MOTOR_DEMO_START
	began=$(date +%s%N)
	hack/demo.sh -figures-json "$OUT/figures.json" -manager-rss "$(manager_rss)" </dev/null | sed -n '/^Figures/,$p'
	echo "make demo, warm: $((($(date +%s%N) - began) / 1000000)) ms with the plain Pods measured in it"
	export MOTOR_DEMO_START=$(date +%s)
done
