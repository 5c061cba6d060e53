#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks that generated files, formatting, module files and manifests are what the sources say. Changes nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
failed=0
complain() {
	echo "$*" >&2
	failed=1
}

make --no-print-directory generate GENERATED="$fresh"
pages=$(cd "$fresh" && echo docs/reference/*.md)
for f in api/v1alpha1/zz_generated.deepcopy.go config/crd/bases config/rbac/role.yaml pkg/client/{applyconfiguration,clientset,informers,listers} clients/python/motorcortex/types.py clients/typescript/src/types.ts $pages; do
	diff -r "$fresh/$f" "$f" >/dev/null || complain "stale: $f; run make generate and commit what it changes"
done
for module in . api pkg/client hack/devcluster hack/layout hack/tools hack/lint test/stores test/bench/peers/agentsandbox test/bench/peers/tekton test/eval test/page; do
	(cd "$module" && go mod tidy -diff >/dev/null) || complain "stale: $module/go.mod or go.sum; run go mod tidy there"
done
for folder in config/default config/without-stamping config/namespaced config/cilium config/manager-egress config/archive config/prometheus config/metrics-ingress config/grafana config/samples/portfolio config/samples/portfolio/scripted config/samples/modelserver config/samples/tutorials config/mcpserver config/page; do
	go tool -modfile=hack/tools/go.mod kustomize build "$folder" >/dev/null || complain "does not build: $folder"
done
unformatted=$(git ls-files '*.go' | xargs gofmt -l)
[ -z "$unformatted" ] || complain "not formatted, run make fmt: $unformatted"
go run -C hack/layout . -root ../.. || failed=1
[ $failed = 0 ] || exit 1
echo "generated code, module files, manifests, formatting and layout are as they must be"
