#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The demo: a cluster, the operator, a model, and one run from its creation to its result, with kubectl and its plugin as a person uses them.
# It can be killed at any moment and run again; the cluster stays until make cluster-down.
#
# OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL name a model, else the scripted one is used. DEMO_ANSWER answers the run's question where no
# person can be asked.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
cd "$ROOT"

NAMESPACE=motorcortex-demo RUN=portfolio SAMPLE=config/samples/portfolio
kubectl() { "$KUBECTL" -n "$NAMESPACE" "$@"; }
motor() { "$OUT/bin/kubectl-motor" -n "$NAMESPACE" "$@"; }
apply() { kubectl apply --server-side --force-conflicts --field-manager=motorcortex-demo "$@" >/dev/null; }
real_model() { [ -n "${OPENAI_API_KEY:-}${OPENAI_BASE_URL:-}" ]; }
has_person() { [ -t 0 ] && [ -t 1 ] && [ -z "${CI:-}" ]; }

# quoted is a text as YAML.
quoted() { printf "'%s'" "${1//\'/\'\'}"; }

# apply_model makes the runs of the namespace use the model.
apply_model() {
	# The key of an earlier demo has no use any more.
	kubectl delete secret model-key --ignore-not-found >/dev/null
	real_model || { apply -k "$SAMPLE/scripted" && return; }
	local key=
	if [ -n "${OPENAI_API_KEY:-}" ]; then
		# The value is in no argument: other users of the machine could read it there.
		printf %s "$OPENAI_API_KEY" | kubectl create secret generic model-key --from-file=apiKey=/dev/stdin --dry-run=client -o yaml | apply -f -
		key='apiKeySecretRef: {name: model-key, key: apiKey}'
	fi
	apply -f - <<-END
		apiVersion: motorcortex.dev/v1alpha1
		kind: MotorCortex
		metadata: {name: default}
		spec:
		  models:
		    default:
		      baseURL: $(quoted "${OPENAI_BASE_URL:-https://api.openai.com/v1}")
		      model: $(quoted "${OPENAI_MODEL:-gpt-5-mini}")
		      $key
	END
}

# answer_questions answers what the run asks: the first question with DEMO_ANSWER, and every other one with its default.
answer_questions() {
	local given=${DEMO_ANSWER:-} answered='' asked default
	while sleep 0.3; do
		IFS='|' read -r asked default < <(kubectl get motorrun "$RUN" -o jsonpath='{.status.pendingInputs[0].id}|{.status.pendingInputs[0].default}') || true
		[ -n "$asked" ] && [ "$asked" != "$answered" ] || continue
		: "${given:=$default}"
		[ -n "$given" ] || { say "the question has no default: answer it on a terminal, or set DEMO_ANSWER" && return; }
		motor answer "$RUN" "$given" --id "$asked" || return
		answered=$asked given=
	done
}

# Two demos would take each other's run away. One that was left behind by a kill of the process above it is waited for.
exec 9>"$OUT/demo.lock"
flock -n 9 || { say "waiting for another demo to end" && flock -w 900 9; } || die "another demo has been at work for 15 minutes; end it first"

if [ -n "${OPENAI_BASE_URL:-}" ] && [ -z "${OPENAI_MODEL:-}" ]; then
	die "OPENAI_BASE_URL is set and OPENAI_MODEL is not: name the model that the endpoint serves"
fi
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
go build -o "$OUT/bin/kubectl-motor" ./cmd/kubectl-motor

"$KUBECTL" apply --server-side --force-conflicts --field-manager=motorcortex-demo -f - >/dev/null <<-END
	{apiVersion: v1, kind: Namespace, metadata: {name: $NAMESPACE, labels: {pod-security.kubernetes.io/enforce: restricted}}}
END
# Steps of an earlier run would stand in the way of those of the new one.
kubectl delete motorrun "$RUN" --ignore-not-found --cascade=foreground --timeout=2m
apply_model
apply -k "$SAMPLE"
say "motorrun/$RUN created, model: $(real_model && echo "${OPENAI_MODEL:-gpt-5-mini}" || echo 'scripted (set OPENAI_API_KEY for a real one)')"

trap 'say "interrupted. The run goes on in the cluster. make demo starts afresh, make cluster-down removes everything." >&2; exit 130' INT TERM
outcome=0
if has_person; then
	motor watch "$RUN" || outcome=$?
else
	# Without the lock, which else outlives a demo that is killed.
	answer_questions 9>&- &
	answering=$!
	motor logs "$RUN" --follow --timeout 10m || outcome=$?
	kill "$answering" 2>/dev/null || true
fi
[ "$outcome" = 0 ] || motor why "$RUN" || true
motor artifacts "$RUN" get artifacts/report.md || true
cat <<-END

	To look further, with the plugin of make plugin on your PATH:
	  kubectl -n $NAMESPACE get motorruns,motorsteps
	  kubectl motor get $RUN -n $NAMESPACE
	  kubectl motor steps $RUN -n $NAMESPACE
END
if [ "$DEMO_CLUSTER" = devcluster ]; then
	cat <<-END
		Your shell reaches this cluster after one of
		  export KUBECONFIG=$KUBECONFIG
		  eval "\$(make -s tutorial-env)"    # kubectl on your PATH, too, and what the tutorials need
		To go on: docs/tutorials/first-run.md. To remove the cluster: make cluster-down
	END
else
	echo "To go on: docs/tutorials/first-run.md"
fi
exit "$outcome"
