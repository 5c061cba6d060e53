#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures runs on the development cluster beside plain Pods, prints a table, and writes dist/bench.json. It fails if a figure misses its
# bound, or if a ratio is worse than in the file that BENCH_COMPARE names, beyond noise. Arguments go to the program: -rounds, -burst.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
cd "$ROOT"

[ "$DEMO_CLUSTER" = devcluster ] || die "figures are measured on the development cluster"
borrow_cluster
build_images manager sandbox modelserver egressproxy
deploy_operator

namespace=motorcortex-bench
overlay=$OUT/bench
rm -rf "$overlay" && mkdir -p "$overlay"
cp test/bench/runs/scripts/*.yaml "$overlay"
cat >"$overlay/motorcortex.yaml" <<-END
	apiVersion: motorcortex.dev/v1alpha1
	kind: MotorCortex
	metadata: {name: default}
	spec:
	  models: {default: {model: scripted/bench-call, baseURL: "http://modelserver.$namespace.svc:8080/v1"}}
	  concurrency: {maxActive: 100}
	  sandbox: {pools: [bench]}
END
cat >"$overlay/kustomization.yaml" <<-END
	apiVersion: kustomize.config.k8s.io/v1beta1
	kind: Kustomization
	namespace: $namespace
	resources: [../../config/samples/modelserver, motorcortex.yaml]
	images:
	- {name: modelserver, newName: ${MODELSERVER_IMAGE%:*}, newTag: ${MODELSERVER_IMAGE##*:}}
	configMapGenerator:
	- name: modelserver-scripts
	  namespace: motorcortex-demo
	  behavior: merge
	  files: [bench-call.yaml, bench-ask.yaml, bench-steps.yaml]
END
tool kustomize build "$overlay" >"$overlay/install.yaml" || die "the model server's manifests do not build"
"$KUBECTL" apply --server-side --force-conflicts --field-manager=motorcortex-install -f "$overlay/install.yaml" >"$overlay/apply.log" ||
	die "the model server was not installed: $(tail -n 3 "$overlay/apply.log")"
"$KUBECTL" -n "$namespace" rollout status deployment/modelserver --timeout=120s >>"$overlay/apply.log" ||
	die "the model server did not become ready within 120 s: kubectl -n $namespace describe pods"
"$KUBECTL" -n "$namespace" wait --for=condition=Ready --timeout=120s motorcortex/default >>"$overlay/apply.log" ||
	die "the MotorCortex is not ready: kubectl -n $namespace describe motorcortex"

go build -o "$OUT/bin/bench-runs" ./test/bench/runs
say "load of this machine before: $(cut -d ' ' -f 1-3 /proc/loadavg)"
"$OUT/bin/bench-runs" -namespace "$namespace" -image "$SANDBOX_IMAGE" -json "$OUT/bench.json" \
	-machine "$(nproc) cores, $(awk '/^MemTotal/ {printf "%d GiB", $2 / 1048576}' /proc/meminfo)" \
	${BENCH_COMPARE:+-compare "$BENCH_COMPARE"} "$@"
