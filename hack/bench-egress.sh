#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures the egress proxy against no proxy, tinyproxy and squid over loopback, and prints a table. It fails if a
# figure misses its bound. Arguments go to the benchmark: -rounds, -connections, -bytes, -idle, -json, -compare, -machine.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
cd "$ROOT"

# The package's own service is not needed: the benchmark starts squid with a configuration of its own.
command -v squid >/dev/null || new_squid=yes
# Without them the proxy alone is measured, and the table says that.
(need tinyproxy tinyproxy-bin squid squid) || true
[ -z "${new_squid:-}" ] || ! command -v squid >/dev/null || service squid stop >/dev/null 2>&1 || true # It runs only where services do.

# The proxies run as nobody, who must be able to reach the program.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM
chmod 755 "$folder"
go test -c -o "$folder/bench.test" ./test/bench || die "the benchmark does not build"
chmod 755 "$folder/bench.test"

# A tunnel takes two connections of the proxy, and two pipes between them.
ulimit -n 16384 2>/dev/null || die "1,000 tunnels need 16384 open files: raise the limit of this shell (ulimit -Hn is $(ulimit -Hn))"
say "load of this machine before: $(cut -d ' ' -f 1-3 /proc/loadavg)"
(cd "$folder" && TMPDIR=$folder exec ./bench.test -test.run '^TestEgressFigures$' -test.timeout 30m -egress "$@") | grep -v -E '^(PASS|FAIL|--- FAIL.*)$'
