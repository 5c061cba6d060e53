#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures the figures of docs/performance.md: the demo with everything built and the cluster up, several times on a machine that
# does nothing else. Where the time of a run goes is measured by hack/bench.sh.
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

use_cluster >/dev/null
for i in 1 2 3; do
	say "── measurement $i of 3"
	unset MOTOR_DEMO_START
	began=$(date +%s%N)
	hack/demo.sh </dev/null >/dev/null
	echo "make demo, warm: $((($(date +%s%N) - began) / 1000000)) ms"
	read -r steps all model tools waiting < <("$KUBECTL" -n motorcortex-demo get motorrun portfolio -o jsonpath='{.status.steps} {.status.result.stats.durationMilliseconds}
		{.status.result.stats.modelMilliseconds} {.status.result.stats.toolMilliseconds} {.status.result.stats.waitingMilliseconds}' | tr '\n' ' ') || true # The end of the line is missing.
	echo "run created → its result, $steps steps: $all ms, of which model $model, tools $tools, waiting for the answer $waiting"
	echo "memory of the manager that leads: $(($(manager_rss) / 1048576)) MiB"
	export MOTOR_DEMO_START=$(date +%s)
done
