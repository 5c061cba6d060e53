#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The demo: a cluster, the operator, a model, and one run from its creation to its result. It can be killed at any
# moment and run again; the cluster stays until make cluster-down.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
cd "$ROOT"

# Two demos would take each other's run away. One that was left behind by a kill of the process above it is waited for.
exec 9>"$OUT/demo.lock"
flock -n 9 || { say "waiting for another demo to end" && flock -w 900 9; } || die "another demo has been at work for 15 minutes; end it first"

real_model() { [ -n "${OPENAI_API_KEY:-}${OPENAI_BASE_URL:-}" ]; }

if real_model && [ "$DEMO_CLUSTER" = devcluster ]; then
	DEVCLUSTER_UP_FLAGS=(--uplink)
fi
use_cluster
images=(manager egressproxy sandbox)
real_model || images+=(modelserver)
build_images "${images[@]}"
deploy_operator
say "operator ready (2 replicas)"
real_model || deploy_modelserver

go build -o "$OUT/bin/demo" ./hack/demo
exec "$OUT/bin/demo" -kubectl "$KUBECTL" "$@"
