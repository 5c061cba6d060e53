#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Records the first tutorial in a terminal, on the chosen cluster: docs/images/first-run.cast and .svg.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
cd "$ROOT"

borrow_cluster
build_images manager egressproxy sandbox modelserver
deploy_operator
go build -o "$OUT/bin/kubectl-motor" ./cmd/kubectl-motor || die "kubectl-motor does not build"
go build -o "$OUT/bin/recording" ./hack/recording || die "the recording does not build"

# The reader has kubectl and the plugin, and chooses a namespace.
reader=$(mktemp -d)
ln -s "$KUBECTL" "$reader/kubectl"
ln -s "$OUT/bin/kubectl-motor" "$reader/kubectl-motor"
cp "$KUBECONFIG" "$reader/kubeconfig"
forget() { "$KUBECTL" delete namespace tutorial --ignore-not-found --timeout=3m >/dev/null; }
forget
PATH=$reader:$PATH KUBECONFIG=$reader/kubeconfig HOME=$reader "$OUT/bin/recording" --from 'Give it a task' --to docs/images/first-run docs/tutorials/first-run.md ||
	die "the tutorial was not recorded; the reason is above"
forget
rm -r "$reader" poem.txt
say "recorded: docs/images/first-run.cast and docs/images/first-run.svg"
