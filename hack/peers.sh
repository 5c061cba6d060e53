# SPDX-License-Identifier: Apache-2.0
# Installs the peers that runs are measured beside, from their published Go modules: kubernetes-sigs/agent-sandbox and tektoncd/pipeline. Source
# it after lib.sh. Their manifests are read from Go's module cache.

PEER_IMAGES=(agent-sandbox tekton-controller tekton-webhook tekton-entrypoint)

# build_peers builds the images of the peers and makes them available to the cluster. It fails, and says why, if they do not build.
build_peers() {
	local began=$SECONDS
	say "building the peers; the first time takes minutes"
	images build -o "$OUT/images" "${PEER_IMAGES[@]}" >"$OUT/peers.log" || return 1
	say "the peers took $((SECONDS - began)) s to build"
	build_images "${PEER_IMAGES[@]}"
}

# deploy_peers installs what build_peers has built, and waits until it works.
deploy_peers() {
	local overlay=$OUT/peers log=$OUT/peers.log
	rm -rf "$overlay" && mkdir -p "$overlay"
	agent_sandbox_manifests >"$overlay/agent-sandbox.yaml"
	tekton_manifests >"$overlay/tekton.yaml"
	local peer
	for peer in agent-sandbox tekton; do
		"$KUBECTL" apply --server-side --force-conflicts --field-manager=motorcortex-bench -f "$overlay/$peer.yaml" >>"$log" 2>&1 ||
			die "$peer was not installed: $(tail -n 3 "$log")"
	done
	local deployment
	for deployment in agent-sandbox-system/agent-sandbox-controller tekton-pipelines/tekton-pipelines-controller tekton-pipelines/tekton-pipelines-webhook; do
		"$KUBECTL" -n "${deployment%/*}" rollout status "deployment/${deployment#*/}" --timeout=180s >>"$log" || {
			"$KUBECTL" -n "${deployment%/*}" get pods,events >&2 || true
			"$KUBECTL" -n "${deployment%/*}" logs "deployment/${deployment#*/}" --tail=20 >&2 || true
			die "$deployment did not become ready within 180 s"
		}
	done
	# The webhook writes its certificate into these when it has made one. Until then nothing of tekton's can be created.
	"$KUBECTL" wait --for=jsonpath='{.webhooks[0].clientConfig.caBundle}' --timeout=60s \
		validatingwebhookconfiguration/validation.webhook.pipeline.tekton.dev mutatingwebhookconfiguration/webhook.pipeline.tekton.dev >>"$log" ||
		die "tekton's webhook has no certificate after 60 s"
}

# module_folder prints where the files of a peer's module are: module_folder FOLDER MODULE.
module_folder() { go list -C "$ROOT/test/bench/peers/$1" -m -f '{{.Dir}}' "$2"; }

# concatenate prints manifests as one.
concatenate() {
	local file
	for file in "$@"; do
		echo ---
		cat "$file"
		echo
	done
}

# The controller is installed with what its project calls extensions: claims and warm pools. The project's two Deployments have one name, and the one
# with extensions is installed.
agent_sandbox_manifests() {
	local folder
	folder=$(module_folder agentsandbox sigs.k8s.io/agent-sandbox)/k8s
	cp -r "$folder" "$OUT/peers/agent-sandbox" && chmod -R u+w "$OUT/peers/agent-sandbox"
	tool kustomize build "$OUT/peers/agent-sandbox" |
		sed "s#ko://sigs.k8s.io/agent-sandbox/cmd/agent-sandbox-controller#$AGENT_SANDBOX_IMAGE#"
}

# The controller and its webhook are installed, not what sends events and what fetches Tasks from elsewhere. Three images are named and never used by a
# TaskRun of one step.
tekton_manifests() {
	local folder
	folder=$(module_folder tekton github.com/tektoncd/pipeline)/config
	concatenate "$folder"/100-namespace/*.yaml "$folder"/2*.yaml "$folder"/300-crds/*.yaml "$folder"/config-*.yaml "$folder/controller.yaml" \
		"$folder/webhook.yaml" "$folder/500-webhooks.yaml" |
		sed -E -e "s#ko://github.com/tektoncd/pipeline/cmd/controller#$TEKTON_CONTROLLER_IMAGE#" \
			-e "s#ko://github.com/tektoncd/pipeline/cmd/webhook#$TEKTON_WEBHOOK_IMAGE#" \
			-e "s#ko://github.com/tektoncd/pipeline/cmd/(entrypoint|nop|sidecarlogresults|workingdirinit)#$TEKTON_ENTRYPOINT_IMAGE#"
}
