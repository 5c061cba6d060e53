#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the operator's images and installs it.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

use_cluster
build_images manager egressproxy sandbox
deploy_operator
say "operator ready; KUBECONFIG=${KUBECONFIG:-the default one}"
