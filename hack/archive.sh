#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The archive on the chosen cluster, in the bucket of an S3 server that runs there. Arguments go to "go test". The manager has
# no archive before and afterwards. A development cluster that was not up before is removed.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
cd "$ROOT"

borrow_cluster
build_images manager egressproxy sandbox modelserver s3server
export S3SERVER_IMAGE
deploy_operator
say "operator ready; running the tests of the archive"
run_tests archive e2e,archive -run '^TestArchive' "$@"
