#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The drivers of the archive with servers of other people's making, on the loopback: an S3 server and an emulator of Google's storage in Go,
# and Azurite, Microsoft's emulator of Azure's storage, on Node.js. Arguments go to "go test".
set -euo pipefail
source "$(dirname "$0")/lib.sh"
cd "$ROOT"

need_node
need npm npm
say "building the stores"
mkdir -p "$OUT/stores"
go build -C test/stores -o "$OUT/stores/" github.com/versity/versitygw/cmd/versitygw github.com/fsouza/fake-gcs-server || die "the stores do not build"
cp test/stores/package.json test/stores/package-lock.json "$OUT/stores/"
# No package of it runs a program when it is installed.
npm ci --prefix "$OUT/stores" --ignore-scripts --omit=optional --no-audit --no-fund >"$OUT/npm.log" 2>&1 || die "npm failed: $(tail -n 5 "$OUT/npm.log")"
export STORE_S3=$OUT/stores/versitygw STORE_GOOGLE=$OUT/stores/fake-gcs-server
export STORE_AZURE="node $OUT/stores/node_modules/azurite/dist/src/blob/main.js"
go test -tags stores -count=1 -run '^TestStore' -v ./internal/archive/bucket "$@"
