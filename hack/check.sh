#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Unit tests and lint of the packages that changed since BASE (the last common commit with origin/main, or else the one before HEAD), and
# everything that is generated. It needs no cluster and a few minutes. make test is what has to pass before a change lands.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
cd "$ROOT"

BASE=${BASE:-$(git merge-base HEAD origin/main 2>/dev/null || git rev-parse HEAD~1)}
folders=$({ git diff --name-only "$BASE" && git ls-files --others --exclude-standard; } | sed -n '/\.go$/p' | xargs -r -n1 dirname | sort -u)
packages=() api=() clients=()
for folder in $folders; do
	case $folder in
	pkg/client/motor*) # The rest of its module is generated.
		clients+=("./${folder#pkg/client/}")
		continue
		;;
	hack/devcluster* | hack/layout* | hack/tools* | pkg/client* | test/stores* | test/eval* | test/page* | */testdata/*) continue ;; # Modules of their own, generated, and no packages.
	test/api | test/e2e | test/skew) continue ;;                                                         # They need an API server or a cluster.
	esac
	compgen -G "$folder/*.go" >/dev/null || continue
	case $folder in
	api/*) api+=("./${folder#api/}") ;; # The API is a module of its own too.
	*) packages+=("./$folder") ;;
	esac
done
say "$((${#packages[@]} + ${#api[@]} + ${#clients[@]})) packages changed since $(git rev-parse --short "$BASE")"
if [ ${#packages[@]} -gt 0 ]; then
	need_node
	go test "${packages[@]}" || die "unit tests"
	go tool -modfile=hack/lint/go.mod golangci-lint run "${packages[@]}" || die "lint"
fi
if [ ${#api[@]} -gt 0 ]; then
	go test -C api "${api[@]}" || die "unit tests of the API"
	(cd api && go tool -modfile="$ROOT/hack/lint/go.mod" golangci-lint run "${api[@]}") || die "lint of the API"
fi
if [ ${#clients[@]} -gt 0 ]; then
	go test -C pkg/client "${clients[@]}" || die "unit tests of the clients"
	(cd pkg/client && go tool -modfile="$ROOT/hack/lint/go.mod" golangci-lint run "${clients[@]}") || die "lint of the clients"
fi
make --no-print-directory verify || die "make verify"
say "nothing is wrong with what changed"
