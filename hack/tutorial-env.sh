#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prints the variables that the commands of the tutorials need on the development cluster, for eval, and loads the image of the scripted model there.
# Everything else goes to standard error.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

exec 3>&1 1>&2
DEMO_CLUSTER=devcluster
ip netns list 2>/dev/null | grep -q '^motorcortex-devcluster' || die "the development cluster is not up: make demo starts it, and installs the operator"
use_installed_cluster
build_images modelserver
printf 'export KUBECONFIG=%q MODELSERVER_IMAGE=%q PATH=%q:"$PATH"\n' "$KUBECONFIG" "$MODELSERVER_IMAGE" "$(dirname "$KUBECTL")" >&3
