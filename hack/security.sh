#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Security tests on the development cluster, whose way out leads into a stand-in Internet for as long as they run. Arguments
# go to "go test". A cluster that was not up before is removed afterwards.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
cd "$ROOT"

[ "$DEMO_CLUSTER" = devcluster ] || die "the security tests need the development cluster: they put a network of their own at its end"
borrow_cluster
build_images manager sandbox modelserver egressproxy
deploy_operator
say "operator ready; running the security tests"
run_tests security e2e,security -run '^TestSecurity' "$@"
