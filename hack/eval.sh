#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The evaluation (test/eval) on the chosen cluster: every task as a run, and by a bare loop beside it. Arguments go to "eval run".
set -euo pipefail
source "$(dirname "$0")/lib.sh"
cd "$ROOT"

# The program runs in another folder, where a relative path would mean another file.
EVAL_OUT=$(realpath -m "${EVAL_OUT:-$OUT/eval}")
[ -z "${EVAL_API_KEY_FILE:-}" ] || EVAL_API_KEY_FILE=$(realpath "$EVAL_API_KEY_FILE")
export EVAL_API_KEY_FILE=${EVAL_API_KEY_FILE:-}
mkdir -p "$EVAL_OUT"
# A real model is outside of the cluster's network.
[ -z "${EVAL_BASE_URL:-}" ] || [ "$DEMO_CLUSTER" != devcluster ] || DEVCLUSTER_UP_FLAGS=(--uplink)

borrow_cluster
build_images manager egressproxy sandbox
deploy_operator
go build -C test/eval -o "$OUT/bin/eval" . || die "the evaluation's program does not build"

flags=(-dir "$ROOT/test/eval/tasks" -out "$EVAL_OUT" -kubectl "$KUBECTL" -image "$SANDBOX_IMAGE"
	-price-in "${EVAL_PRICE_IN:-0}" -price-out "${EVAL_PRICE_OUT:-0}" -player "${EVAL_PLAYER:-}")
say "operator ready; results go to $EVAL_OUT"
case $DEMO_CLUSTER in
devcluster)
	# The manager asks no model at the address of a node, so the endpoint has an address of its own in the cluster's network.
	devcluster exec -- ip addr replace 10.250.0.1/32 dev lo
	flags+=(-listen 10.250.0.1:18090)
	if [ -n "${EVAL_BASE_URL:-}" ]; then
		# The network of the cluster has no way out but this proxy.
		export HTTPS_PROXY=http://172.30.0.1:3129 NO_PROXY=10.0.0.0/8,172.16.0.0/12,127.0.0.1
	fi
	devcluster exec -- "$OUT/bin/eval" run "${flags[@]}" "$@"
	;;
*)
	[ -n "${EVAL_ADVERTISE:-}" ] || die "set EVAL_ADVERTISE to HOST:PORT by which the cluster's manager reaches port 18090 of this machine"
	"$OUT/bin/eval" run "${flags[@]}" -listen 0.0.0.0:18090 -advertise "$EVAL_ADVERTISE" "$@"
	;;
esac
