#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Removes the operator and everything of its kinds. Walls go last: a sandbox without them could reach whatever its node can, so
# nothing of the installation is taken away before every sandbox is gone.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

SANDBOXES=motorcortex.dev/component=sandbox
PATIENCE=${PATIENCE:-300}

# count KIND ... says how many there are, 0 if the cluster does not know the kind.
count() { "$KUBECTL" get "$1" -A -o name 2>/dev/null | wc -l; }

# end_runs deletes every run, and waits until no sandbox is left.
end_runs() {
	local until=$((SECONDS + PATIENCE)) kind left
	kind=$("$KUBECTL" get crd motorruns.motorcortex.dev --ignore-not-found -o name) ||
		die "the API server does not say whether there are runs, so nothing else was removed. Run this again when it answers"
	[ -z "$kind" ] || "$KUBECTL" delete motorruns -A --all --wait=false >/dev/null
	# No answer is none: a sandbox may be left as long as the API server did not say otherwise.
	until left=$("$KUBECTL" get pods -A -l "$SANDBOXES" -o name) && [ -z "$left" ]; do
		[ $SECONDS -lt $until ] || {
			"$KUBECTL" get pods -A -l "$SANDBOXES" -o wide ||
				die "the API server does not say whether sandboxes are left after $PATIENCE s, so their walls stay, and nothing else was removed. Run this again when it answers"
			die "these sandboxes are still there after $PATIENCE s, so their walls stay, and nothing else was removed. Look at the Pods above (a node that is gone? a finalizer?), then run this again"
		}
		sleep 1
	done
}

use_installed_cluster
say "this removes, in all namespaces: $(count motorruns) MotorRuns with $(count motorsteps) steps, $(count skills) Skills with their revisions and packages,"
say "  $(count motorcortices) MotorCortex objects, and the namespace motorcortex-system with the Secret motorcortex-model"
say "  what is in the workspaces of runs goes with their sandboxes, and so do the claims of workspaces on volumes ($("$KUBECTL" get pvc -A -l "$SANDBOXES" -o name 2>/dev/null | wc -l)); a StorageClass that retains volumes keeps those"
say "this stays: Secrets motorcortex-credential-* that runs saved, RoleBindings to the ClusterRoles motorcortex-*, labels of namespaces, what is in buckets"
if [ "${CONFIRM:-}" != yes ]; then
	[ -t 0 ] || die "nothing was removed: set CONFIRM=yes to go on without being asked"
	read -r -p "Type yes to go on: " answer
	[ "$answer" = yes ] || die "nothing was removed"
fi

say "ending all runs"
end_runs
# Nobody makes new sandboxes now. What was made while the manager went is waited for as well.
say "stopping the manager"
"$KUBECTL" -n motorcortex-system delete deployment motorcortex-manager --ignore-not-found --wait
"$KUBECTL" -n motorcortex-system wait pods -l app.kubernetes.io/component=manager --for=delete --timeout="${PATIENCE}s" >/dev/null 2>&1 || true
end_runs
say "removing what is left"
"$KUBECTL" delete --ignore-not-found -k "$ROOT/config/default"
"$KUBECTL" delete networkpolicies -A -l app.kubernetes.io/managed-by=motorcortex --ignore-not-found
say "removed. What stays, and how to find it:"
say "  kubectl get secrets -A -l motorcortex.dev/component=credential"
say "  kubectl get rolebindings -A -o wide | grep motorcortex-"
say "  kubectl get namespaces -L motorcortex.dev/sandbox-exec,motorcortex.dev/sandbox-networkpolicies"
