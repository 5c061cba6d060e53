#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures the manager and the plugin beside very many finished runs, on an API server and etcd of its own: no cluster is needed. It writes
# dist/bench-history.json, and fails if a figure misses its bound. Arguments go to the program: -runs, -rounds.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
cd "$ROOT"

mkdir -p "$OUT/bin"
go build -o "$OUT/bin/" ./cmd/manager ./cmd/kubectl-motor
go build -o "$OUT/bin/bench-history" ./test/bench/history/measure
KUBEBUILDER_ASSETS=$(devcluster assets)
export KUBEBUILDER_ASSETS
say "load of this machine before: $(cut -d ' ' -f 1-3 /proc/loadavg)"
"$OUT/bin/bench-history" -manager "$OUT/bin/manager" -plugin "$OUT/bin/kubectl-motor" -json "$OUT/bench-history.json" "$@"
