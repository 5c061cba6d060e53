#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures the egress proxy beside others, then tool calls and runs on the development cluster beside plain Pods, prints tables, and writes
# dist/bench.json. It fails if a figure misses its bound, or if a ratio is worse than in test/bench/last.json, beyond noise. BENCH_COMPARE names another
# file, or is empty: then nothing is compared.
# BENCH_PARTS has those of "egress tools runs" that are measured. Arguments go to the program that measures runs: -rounds, -burst,
# -only with rows of the table, -peers=false to measure without agent-sandbox and tekton, which are measured if they build.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/peers.sh"
cd "$ROOT"

[ "$DEMO_CLUSTER" = devcluster ] || die "figures are measured on the development cluster"
results=(-json "$OUT/bench.json" -machine "$(nproc) cores, $(awk '/^MemTotal/ {printf "%d GiB", $2 / 1048576}' /proc/meminfo), load $(cut -d ' ' -f 1 /proc/loadavg) before")
BENCH_COMPARE=${BENCH_COMPARE-test/bench/last.json}
if [ -n "$BENCH_COMPARE" ]; then
	# It may be the file that is written.
	cp "$BENCH_COMPARE" "$OUT/bench-before.json" || die "BENCH_COMPARE names no file that can be read: $BENCH_COMPARE"
	results+=(-compare "$OUT/bench-before.json")
fi
rm -f "$OUT/bench.json"
# A program that misses a bound must not keep the others from measuring.
missed=()

measures() { [[ " ${BENCH_PARTS:-egress tools runs} " == *" $1 "* ]]; }
# conclude fails if something is missed.
conclude() {
	[ ${#missed[@]} = 0 ] || die "figures are missed of: ${missed[*]}; all of them are in ${OUT#"$ROOT"/}/bench.json"
}

# It needs no cluster.
if measures egress; then
	hack/bench-egress.sh "${results[@]}" || missed+=(egress)
fi
measures tools || measures runs || {
	conclude
	exit 0
}

borrow_cluster
build_images manager sandbox modelserver egressproxy
deploy_operator

peers=(-peers)
case " $* " in *" -peers=false "*) peers=() ;; esac
measures runs || peers=()
if [ ${#peers[@]} -gt 0 ]; then
	if build_peers; then
		deploy_peers
	else
		say "the peers do not build, so they are not measured; the reason is above"
		peers=()
	fi
fi

# The memory of the managers is read from their profiles, and none of them has had a run before.
deployment=motorcortex-manager
"$KUBECTL" -n motorcortex-system patch deployment "$deployment" --type=strategic -p \
	'{"spec":{"template":{"spec":{"containers":[{"name":"manager","args":["--pprof-bind-address=127.0.0.1:6060"]}]}}}}' >"$OUT/bench-patch.log"
"$KUBECTL" -n motorcortex-system rollout restart "deployment/$deployment" >>"$OUT/bench-patch.log"
"$KUBECTL" -n motorcortex-system rollout status "deployment/$deployment" --timeout=180s >>"$OUT/bench-patch.log" ||
	die "the managers with profiles did not become ready within 180 s: kubectl -n motorcortex-system describe pods"

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
# The account reads the metrics of the managers. The second namespace is for the Pod that kills one of them.
cat >"$overlay/reader.yaml" <<-END
	apiVersion: v1
	kind: ServiceAccount
	metadata: {name: bench-metrics-reader}
	---
	apiVersion: rbac.authorization.k8s.io/v1
	kind: ClusterRoleBinding
	metadata: {name: motorcortex-bench-metrics-reader}
	roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: motorcortex-metrics-reader}
	subjects: [{kind: ServiceAccount, name: bench-metrics-reader, namespace: $namespace}]
END
"$KUBECTL" create namespace motorcortex-bench-node --dry-run=client -o yaml | "$KUBECTL" apply -f - >>"$OUT/bench-patch.log"
"$KUBECTL" label namespace motorcortex-bench-node pod-security.kubernetes.io/enforce=privileged --overwrite >>"$OUT/bench-patch.log"
cat >"$overlay/kustomization.yaml" <<-END
	apiVersion: kustomize.config.k8s.io/v1beta1
	kind: Kustomization
	namespace: $namespace
	resources: [../../config/samples/modelserver, motorcortex.yaml, reader.yaml]
	images:
	- {name: modelserver, newName: ${MODELSERVER_IMAGE%:*}, newTag: ${MODELSERVER_IMAGE##*:}}
	configMapGenerator:
	- name: modelserver-scripts
	  namespace: motorcortex-demo
	  behavior: merge
	  files: [bench-call.yaml, bench-ask.yaml, bench-steps.yaml, bench-five.yaml, bench-slow.yaml, bench-takeover.yaml]
END
tool kustomize build "$overlay" >"$overlay/install.yaml" || die "the model server's manifests do not build"
"$KUBECTL" apply --server-side --force-conflicts --field-manager=motorcortex-install -f "$overlay/install.yaml" >"$overlay/apply.log" ||
	die "the model server was not installed: $(tail -n 3 "$overlay/apply.log")"
"$KUBECTL" -n "$namespace" rollout status deployment/modelserver --timeout=120s >>"$overlay/apply.log" ||
	die "the model server did not become ready within 120 s: kubectl -n $namespace describe pods"
"$KUBECTL" -n "$namespace" wait --for=condition=Ready --timeout=120s motorcortex/default >>"$overlay/apply.log" ||
	die "the MotorCortex is not ready: kubectl -n $namespace describe motorcortex"

go build -o "$OUT/bin/bench-tools" ./test/bench/tools
go build -o "$OUT/bin/bench-runs" ./test/bench/runs
say "load of this machine before: $(cut -d ' ' -f 1-3 /proc/loadavg)"
if measures tools; then
	# An admission policy keeps exec out of sandboxes everywhere else.
	"$KUBECTL" label --overwrite namespace "$namespace" motorcortex.dev/sandbox-exec=allowed >>"$overlay/apply.log"
	# It speaks to a sandbox itself, as a manager does, so it runs inside the cluster's network.
	devcluster exec -- "$OUT/bin/bench-tools" -namespace "$namespace" -kubectl "$KUBECTL" "${results[@]}" || missed+=(tools)
fi
if measures runs; then
	"$OUT/bin/bench-runs" -namespace "$namespace" -image "$SANDBOX_IMAGE" -kubectl "$KUBECTL" "${results[@]}" "${peers[@]}" "$@" || missed+=(runs)
fi
# A cluster that stays has managers without profiles again.
[ -n "$CLUSTER_IS_BORROWED" ] || "$KUBECTL" -n motorcortex-system patch deployment "$deployment" --type=json -p \
	'[{"op":"remove","path":"/spec/template/spec/containers/0/args"}]' >>"$OUT/bench-patch.log"
conclude
