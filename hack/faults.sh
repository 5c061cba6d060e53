#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fault tests on the chosen cluster, with a manager that can be told to fail. FAULTS_LONG=1 takes the time that the
# faults take in the wild; FAULTS_RUNS is the number of runs among which managers are killed at random. Arguments go to
# "go test". Afterwards the cluster has the ordinary manager again, or is removed if it was not up before.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
cd "$ROOT"

borrow_cluster
build_images manager manager-faults egressproxy sandbox modelserver
MANAGER_IMAGE=$MANAGER_FAULTS_IMAGE deploy_operator
say "operator ready, with faults in it; running the fault tests"
run_tests faults e2e,faults -run '^TestFault' "$@"
[ -n "$CLUSTER_IS_BORROWED" ] || deploy_operator
