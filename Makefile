# SPDX-License-Identifier: Apache-2.0
SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# Images are built with -trimpath; without it here too, every dependency would be compiled twice.
export GOFLAGS := $(GOFLAGS) -trimpath -buildvcs=false
# The same goes for cgo, which only the race detector needs.
export CGO_ENABLED := 0

DEVCLUSTER := go run -C hack/devcluster .
# Where generated files go; make verify sets another folder to compare.
GENERATED ?= .
CONTROLLER_GEN := go tool -modfile=$(CURDIR)/hack/tools/go.mod controller-gen
CODE_GEN := go tool -modfile=$(CURDIR)/hack/tools/go.mod
KUSTOMIZE := go tool -modfile=$(CURDIR)/hack/tools/go.mod kustomize
GOLANGCI_LINT := go tool -modfile=$(CURDIR)/hack/lint/go.mod golangci-lint

##@ Use it

.PHONY: demo
demo: ## Start a real Kubernetes, install the operator, carry out the sample. DEMO_CLUSTER=current|kind uses another cluster.
	@hack/demo.sh

.PHONY: cluster-up
cluster-up: ## Start the development cluster (the first time it builds Kubernetes).
	@$(DEVCLUSTER) up

.PHONY: cluster-down
cluster-down: ## Remove the development cluster without a trace.
	@$(DEVCLUSTER) down

.PHONY: cluster-shell
cluster-shell: ## Open a shell with kubectl for the development cluster.
	@echo "a shell in the cluster's network, with its kubectl; exit leaves it"; $(DEVCLUSTER) exec -- bash

.PHONY: tutorial-env
tutorial-env: ## Print what a shell needs for the tutorials on the development cluster: eval "$$(make -s tutorial-env)".
	@hack/tutorial-env.sh

.PHONY: deploy
deploy: ## Build the images and install the operator on the development cluster, or on DEMO_CLUSTER.
	@hack/deploy.sh

.PHONY: undeploy
undeploy: ## Remove the operator, and every MotorRun, Skill and MotorCortex with it. It says what goes and what stays, and asks.
	@hack/undeploy.sh

##@ Test it

.PHONY: test
test: ## Everything: generated code, lint, unit, API-server, end-to-end, security and fault tests.
	@hack/test.sh

.PHONY: check
check: ## For every day: unit tests and lint of the packages that changed since BASE, and everything that is generated.
	@hack/check.sh

# These tests measure what the worst input costs, or try very many inputs of code whose goroutines other tests of the package start too.
WITHOUT_RACE = Worst.*|AWriteOfTheStatusIsCheapToCheck|AnyInterleaving|ArtifactsThatAreNoSkills|BashAgrees.*|ConversationsOnlyGrow|DecideInAnyOrder|File|LongScripts|PackLimits|ParseManifestOfHostileText|PutAndFiles|RunsComeToAnEnd|SimulatedDays|UnpackBomb|UntarIsBounded|Windows

.PHONY: test-unit
test-unit: ## Unit tests, with the race detector but for those of WITHOUT_RACE. The linter vets their code.
	# The packages that take longest begin first, or one processor waits for them in the end.
	CGO_ENABLED=1 go test -race -vet=off -skip '^Test($(WITHOUT_RACE))$$' -timeout 20m ./internal/toolserver ./internal/toolserver/program ./cmd/toolserver $$(go list ./... | grep -v -E '/test/(e2e|api|skew)$$')
	go test -vet=off -run '^Test($(WITHOUT_RACE))$$' -timeout 10m $$(grep -rlE --include='*_test.go' '^func Test($(WITHOUT_RACE))\(' cmd internal test | xargs -n1 dirname | sort -u | sed 's|^|./|')
	go vet -tags e2e,faults,security,archive,stores ./cmd/manager ./test/e2e ./internal/archive/bucket
	go test -C hack/layout ./...
	CGO_ENABLED=1 go test -C api -race ./...
	go vet -C api ./...
	CGO_ENABLED=1 go test -C pkg/client -race ./motor/...
	go vet -C pkg/client ./...

# Loops, several managers and watchers run side by side in these tests. In the others a reconciler is called by the test.
SIDE_BY_SIDE = Engine|Chaos|Fleet|Signals|AManager|AWholeManager|Pool|Following|AnAgent|ThePage|ARunOfADeadSink

.PHONY: test-api
test-api: ## Tests against a real API server, with the race detector those of SIDE_BY_SIDE.
	@hack/clients.sh build
	# Most of the processor time goes to the API server, whose heap is small: it collects garbage less often. And half of a test's time is waiting.
	KUBEBUILDER_ASSETS="$$($(DEVCLUSTER) assets)" GOGC=400 go test -vet=off -skip '^Test($(SIDE_BY_SIDE))' -parallel 4 -timeout 40m ./test/api/...
	KUBEBUILDER_ASSETS="$$($(DEVCLUSTER) assets)" GOGC=400 CGO_ENABLED=1 go test -race -vet=off -run '^Test($(SIDE_BY_SIDE))' -parallel 4 -timeout 40m ./test/api

.PHONY: test-skew
test-skew: ## The last release beside this one: engines, clients and tool servers of both, in the middle of a run.
	KUBEBUILDER_ASSETS="$$($(DEVCLUSTER) assets)" go test -timeout 30m ./test/skew

.PHONY: test-e2e
test-e2e: ## End-to-end tests on the development cluster (started if it is not up), or on DEMO_CLUSTER.
	@hack/e2e.sh

.PHONY: test-faults
test-faults: ## Fault tests on the same: what must survive is killed, frozen, cut off. FAULTS_LONG=1 takes its time.
	@hack/faults.sh

.PHONY: test-security
test-security: ## Attacks on a sandbox and its way out, on the development cluster with a stand-in for the Internet.
	@hack/security.sh

.PHONY: test-stores
test-stores: ## The drivers of the archive with an S3 server and emulators of Google's and Azure's storage, on the loopback.
	@hack/stores.sh

.PHONY: test-archive
test-archive: ## The archive on the same, in the bucket of an S3 server that runs there.
	@hack/archive.sh

.PHONY: test-devcluster
test-devcluster: ## Unit tests of the development cluster's own program.
	go test -C hack/devcluster -timeout 5m ./...

.PHONY: eval
eval: ## Evaluate with a model: EVAL_BASE_URL, EVAL_MODEL, EVAL_API_KEY_FILE. Without them readers play the model. See test/eval/README.md.
	@hack/eval.sh $(EVAL_FLAGS)

.PHONY: test-eval
test-eval: ## Unit tests of the evaluation: its tasks' checks judge ends that were written down. Needs Python and Node.js, and no cluster.
	go test -C test/eval -timeout 10m ./...

.PHONY: test-page
test-page: ## The page of kubectl motor ui in Chromium, with a cluster in memory. Needs the Debian package chromium, or CHROMIUM.
	go test -C test/page -timeout 15m ./...

.PHONY: test-clients
test-clients: ## The Python and the TypeScript client: types and tests, without a cluster. make test-api has their examples talk to an API server.
	@hack/clients.sh

.PHONY: recording
recording: ## Record the first tutorial in a terminal: docs/images/first-run.svg and .cast.
	@hack/recording.sh

.PHONY: figures
figures: ## Measure the figures of docs/performance.md.
	@hack/figures.sh

.PHONY: figures-egress
figures-egress: ## Measure the egress proxy against tinyproxy and squid (Debian packages, installed if they are missing).
	@hack/bench-egress.sh

.PHONY: bench
bench: ## Measure the egress proxy beside others, tool calls and runs on the development cluster beside agent-sandbox and tekton, and 100,000 finished runs. Fails if a figure misses its bound, or a ratio is worse than in test/bench/last.json or BENCH_COMPARE=FILE.
	@missed=0; hack/bench.sh || missed=1; hack/bench-history.sh || missed=1; exit $$missed

.PHONY: bench-history
bench-history: ## The part of bench that needs no cluster: the manager and the plugin beside 100,000 finished runs.
	@hack/bench-history.sh

.PHONY: flamegraph
flamegraph: ## Draw where the time of a run of 1,000 steps goes: docs/images/loop.svg.
	mkdir -p dist
	go test -vet=off -run none -bench 'BenchmarkStep/1000$$' -benchtime 20x -cpuprofile dist/loop.pprof -o dist/loop.test ./internal/motorloop
	go tool pprof -traces dist/loop.pprof | go run ./hack/flamegraph -under 'motorloop.(*Loop).Run' -title 'motorloop.(*Loop).Run: a run of 1,000 steps' >dist/loop.svg
	mv dist/loop.svg docs/images/loop.svg

.PHONY: figures-tools
figures-tools: ## Measure tool calls and idle sandboxes on the development cluster.
	@BENCH_PARTS=tools hack/bench.sh

##@ Change it

.PHONY: generate
generate: ## Generate deepcopy functions, CRDs, clients, RBAC and the pages of the API and the tools.
	cd api && $(CONTROLLER_GEN) object:headerFile=$(CURDIR)/hack/boilerplate.go.txt paths=./... output:object:dir=$(abspath $(GENERATED))/api/v1alpha1
	cd api && $(CONTROLLER_GEN) crd paths=./... output:crd:dir=$(abspath $(GENERATED))/config/crd/bases
	$(MAKE) --no-print-directory generate-client GENERATED=$(GENERATED)
	$(CONTROLLER_GEN) rbac:roleName=motorcortex-manager paths=./internal/controller/... output:rbac:dir=$(GENERATED)/config/rbac
	mkdir -p $(GENERATED)/docs/reference && go run ./hack/tooldocs -o $(GENERATED)/docs/reference/tools.md
	go run ./hack/apidocs -o $(GENERATED)/docs/reference
	mkdir -p $(GENERATED)/clients/python/motorcortex $(GENERATED)/clients/typescript/src
	go run ./hack/clienttypes $(GENERATED)/config/crd/bases $(GENERATED)/clients/python/motorcortex/types.py $(GENERATED)/clients/typescript/src/types.ts

.PHONY: generate-client
generate-client: CLIENT = $(abspath $(GENERATED))/pkg/client
generate-client: PACKAGE = motorcortex.dev/motorcortex/pkg/client
generate-client: API = motorcortex.dev/motorcortex/api/v1alpha1
generate-client: HEADER = --go-header-file=$(CURDIR)/hack/boilerplate.go.txt
# The plural of the CustomResourceDefinition. A client that guesses another one asks for a kind that is not there.
generate-client: PLURALS = --plural-exceptions=MotorCortex:MotorCortices
generate-client: ## Generate the clients of pkg/client. make generate does it too.
	# A generator leaves the files of a kind that is gone.
	rm -rf $(CLIENT)/applyconfiguration $(CLIENT)/clientset $(CLIENT)/informers $(CLIENT)/listers
	cd api && $(CODE_GEN) applyconfiguration-gen $(HEADER) --output-dir=$(CLIENT)/applyconfiguration --output-pkg=$(PACKAGE)/applyconfiguration $(API)
	cd api && $(CODE_GEN) client-gen $(HEADER) $(PLURALS) --output-dir=$(CLIENT)/clientset --output-pkg=$(PACKAGE)/clientset --clientset-name=versioned \
		--input-base=motorcortex.dev/motorcortex --input=api/v1alpha1 --apply-configuration-package=$(PACKAGE)/applyconfiguration
	cd api && $(CODE_GEN) lister-gen $(HEADER) $(PLURALS) --output-dir=$(CLIENT)/listers --output-pkg=$(PACKAGE)/listers $(API)
	cd api && $(CODE_GEN) informer-gen $(HEADER) $(PLURALS) --output-dir=$(CLIENT)/informers --output-pkg=$(PACKAGE)/informers \
		--versioned-clientset-package=$(PACKAGE)/clientset/versioned --listers-package=$(PACKAGE)/listers $(API)

.PHONY: fmt
fmt: ## Format the code.
	$(GOLANGCI_LINT) fmt

.PHONY: lint
lint: ## Lint the code.
	$(GOLANGCI_LINT) run ./...
	cd api && $(GOLANGCI_LINT) run ./...
	cd pkg/client && $(GOLANGCI_LINT) run ./motor/...

.PHONY: verify
verify: ## Check that generated files and go.mod are up to date, and the layout as CONTRIBUTING.md says it is.
	@hack/verify.sh

.PHONY: lodgers
lodgers: ## Report definitions that live away from everything that uses them.
	@go run -C hack/layout . -root ../.. -lodgers

.PHONY: vulncheck
vulncheck: ## Look the modules up in the database of Go's vulnerabilities, on the Internet.
	go run golang.org/x/vuln/cmd/govulncheck@v1.9.0 ./cmd/...
	go run golang.org/x/vuln/cmd/govulncheck@v1.9.0 -C api ./...
	go run golang.org/x/vuln/cmd/govulncheck@v1.9.0 -C pkg/client ./...

.PHONY: plugin
plugin: ## Build kubectl motor and its completion into PLUGIN_DIR, ~/.local/bin if it is unset.
	@dir=$${PLUGIN_DIR:-$$HOME/.local/bin} && mkdir -p "$$dir" && go build -ldflags='-s -w' -o "$$dir/kubectl-motor" ./cmd/kubectl-motor && \
		ln -sf kubectl-motor "$$dir/kubectl_complete-motor" && echo "$$dir/kubectl-motor" && \
		case ":$$PATH:" in *":$$dir:"*) ;; *) printf '%s is not on your PATH: kubectl finds plugins there only. Type\n  export PATH="%s:$$PATH"\n' "$$dir" "$$dir";; esac

.PHONY: plugin-archives
plugin-archives: ## Pack kubectl motor for every platform into dist/plugin, with the manifest for krew. PLUGIN_URL is where they will be published.
	go run ./hack/pluginpack -url "$(PLUGIN_URL)"

.PHONY: build-installer
build-installer: ## Write the installation as one file, dist/install.yaml.
	@mkdir -p dist && $(KUSTOMIZE) build config/default > dist/install.yaml && echo dist/install.yaml

.PHONY: sbom
sbom: ## Write what is in each image, dist/images/NAME.spdx.json (SPDX 2.3).
	@mkdir -p dist/images && cd hack/devcluster && go run ./images build -o $(CURDIR)/dist/images manager egressproxy mcpserver pageserver sandbox && \
		go run ./images sbom -o $(CURDIR)/dist/images manager egressproxy mcpserver pageserver sandbox

.PHONY: help
help: ## Show this help.
	@awk 'BEGIN {FS = ":.*##"} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z0-9-]+:.*##/ {printf "  %-17s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
