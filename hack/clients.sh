#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests of the clients that are not of Go, without a cluster. With the argument build it only makes what the API-server tests run: it installs the
# official client for Python, which Debian has as a package, and builds the TypeScript client and its example in dist/clients.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
cd "$ROOT/clients"

# build_typescript leaves the sources alone: a node_modules there would be searched for Go packages.
build_typescript() {
	local folder=$OUT/clients/typescript
	need_node
	need npm npm
	say "building the TypeScript client"
	mkdir -p "$folder"
	rm -rf "$folder"/{build,src,tests,examples}
	cp -r typescript/{package.json,package-lock.json,.npmrc,tsconfig.json,src,tests,examples} "$folder/"
	if ! cmp -s typescript/package-lock.json "$folder/installed"; then
		rm -f "$folder/installed"
		# No package of it runs a program when it is installed.
		npm ci --prefix "$folder" --ignore-scripts --no-audit --no-fund >"$OUT/npm.log" 2>&1 || die "npm failed: $(tail -n 5 "$OUT/npm.log")"
		cp typescript/package-lock.json "$folder/installed"
	fi
	# The compiler also checks the types.
	(cd "$folder" && node_modules/.bin/tsc) || die "the TypeScript client does not build"
}

# lawful checks the lock file: each dependency has a licence that permits use beside Apache-2.0, and none is bound to an address.
lawful() {
	python3 - typescript/package-lock.json <<-'END'
		import json, sys
		permitted = {"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BlueOak-1.0.0", "ISC", "MIT", "Python-2.0", "Unlicense"}
		packages = {name: p for name, p in json.load(open(sys.argv[1]))["packages"].items() if name}
		bad = [f"{name} has the licence {p.get('license')}" for name, p in packages.items() if p.get("license") not in permitted]
		bad += [f"{name} has an address, or no sum" for name, p in packages.items() if "resolved" in p or "integrity" not in p]
		sys.exit("\n".join(bad) or (None if packages else f"{sys.argv[1]} has no package"))
	END
}

/usr/bin/python3 -c 'import kubernetes' 2>/dev/null || need python3-kubernetes python3-kubernetes
build_typescript
[ "${1:-}" != build ] || exit 0

need mypy mypy
export PYTHONDONTWRITEBYTECODE=1
say "types of the Python client"
(cd python && mypy --cache-dir="$OUT/mypy" motorcortex examples)
say "tests of the Python client"
(cd python && PYTHONPATH=. /usr/bin/python3 -m unittest discover -s tests)
say "licences of the TypeScript client"
lawful || die "the lock file of the TypeScript client has what it must not have"
say "tests of the TypeScript client"
VECTORS=$ROOT/clients/testdata/digests.json node --test "$OUT"/clients/typescript/build/tests/*.test.js
