#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# End-to-end tests on the chosen cluster. A development cluster that was not up before is removed afterwards. Arguments
# go to "go test".
set -euo pipefail
source "$(dirname "$0")/lib.sh"
cd "$ROOT"

borrow_cluster
build_images manager egressproxy sandbox modelserver mcpserver pageserver oidcissuer
deploy_operator
say "operator ready; running the end-to-end tests"
run_tests e2e e2e "$@"
