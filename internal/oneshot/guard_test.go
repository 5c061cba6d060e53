// SPDX-License-Identifier: Apache-2.0

package oneshot

import (
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/test/worst"
)

func TestGuardRefuses(t *testing.T) {
	t.Parallel()
	const mayNot = ", which the code of a Oneshot run may not do"
	tests := map[string]struct{ language, source, want string }{
		"require":                   {"javascript", "const x = 1\nconst cp = require('child_process')", `line 2: require "child_process" starts, ends or changes processes`},
		"require with a scheme":     {"javascript", `require("node:fs/promises").readFile("x")`, `line 1: require "fs/promises" reads or writes files`},
		"require of a template":     {"javascript", "require(`net`)", `line 1: require "net" uses the network`},
		"require of a sum":          {"javascript", "require('f' + 's')", `line 1: require(…) loads a module whose name only the running code knows`},
		"require of a variable":     {"javascript", "const m = 'fs'\nrequire(m)", `line 2: require(…) loads a module whose name only the running code knows`},
		"require by the global":     {"javascript", "globalThis.require('os')", "line 1: globalThis reaches into the system or the runtime"},
		"import":                    {"javascript", "import fs, { readFile } from 'fs'", `line 1: from "fs" reads or writes files`},
		"import for its effect":     {"javascript", "import 'node:http'", `line 1: import "http" uses the network`},
		"dynamic import":            {"javascript", "\n\nawait import('https')", `line 3: import "https" uses the network`},
		"dynamic import of a name":  {"javascript", "await import(name)", `line 1: import(…) loads a module whose name only the running code knows`},
		"export from":               {"javascript", "export * from 'dns'", `line 1: from "dns" uses the network`},
		"eval":                      {"javascript", "eval('1')", "line 1: eval(…) runs a text as code"},
		"eval of the global":        {"javascript", "globalThis?.eval('1')", "line 1: globalThis reaches into the system or the runtime"},
		"a prototype":               {"javascript", "x.__proto__.y = 1", "line 1: __proto__ changes what every object inherits"},
		"a member of a constructor": {"javascript", "x.constructor ['prototype']", "line 1: constructor [ runs a text as code"},
		"Function":                  {"javascript", "/* one\n two */ new Function('return 1')()", "line 2: Function(…) runs a text as code"},
		"constructor":               {"javascript", "[].constructor.constructor('return process')()", "line 1: constructor.constructor runs a text as code"},
		"constructor of a function": {"javascript", "(() => {}).constructor('return 1')", "line 1: constructor(…) runs a text as code"},
		"process.exit":              {"javascript", "if (done) process.exit(0)", "line 1: process.exit starts, ends or changes processes"},
		"process.binding":           {"javascript", "process['binding']('fs')", "line 1: process['binding'] reaches into the system or the runtime"},
		"fetch":                     {"javascript", "const r = await fetch('https://example.org')", "line 1: fetch(…) uses the network"},
		"socket":                    {"javascript", "new WebSocket(url)", "line 1: new WebSocket uses the network"},
		"after a division":          {"javascript", "a / b; require('fs') /* c / d */", `line 1: require "fs" reads or writes files`},
		"after an open string":      {"javascript", "const s = 'open\nrequire('fs')", `line 2: require "fs" reads or writes files`},

		"import of os":              {"python", "import math, os.path as p", "line 1: import math, os.path reaches into the system or the runtime"},
		"import in a block":         {"python", "def f():\n    if True: import subprocess\n", "line 2: import subprocess starts, ends or changes processes"},
		"import after another":      {"python", "import math; import socket", "line 1: import socket uses the network"},
		"from":                      {"python", "x = 1 # open(\nfrom ctypes import (CDLL)", "line 2: from ctypes reaches into the system or the runtime"},
		"from a package":            {"python", "from urllib import (parse,\n  request)", "line 1: from urllib import (…) uses the network"},
		"import of a part":          {"python", "import urllib.request", "line 1: import urllib.request uses the network"},
		"open":                      {"python", "text = open('f').read()", "line 1: open(…) reads or writes files"},
		"python's eval":             {"python", "print(eval('1'))", "line 1: eval(…) runs a text as code"},
		"exec":                      {"python", "'''\n'''\nexec('x = 1')", "line 3: exec(…) runs a text as code"},
		"__import__":                {"python", "__import__('os').system('id')", "line 1: __import__ reaches into the system or the runtime"},
		"subclasses":                {"python", "().__class__.__base__.__subclasses__()", "line 1: __subclasses__ reaches into the system or the runtime"},
		"after a raw string":        {"python", "r = rb'\\'' + r\"x\"\nimport pty", "line 2: import pty starts, ends or changes processes"},
		"after a string that ends":  {"python", "s = 'open\nimport http.client", "line 2: import http.client uses the network"},
		"after a comment at length": {"python", "# a\n# b\nimport runpy # c", "line 3: import runpy runs a text as code"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Guard(tt.language, tt.source, false); got != tt.want+mayNot {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// Code with a network may use it, and no other refused construct.
func TestGuardOfCodeWithANetwork(t *testing.T) {
	t.Parallel()
	for source, refused := range map[string]bool{
		"const r = await fetch('https://example.org'); return r.json()": false, "require('node:https')": false, "fetch(x); require('fs')": true, "process.exit(1)": true,
	} {
		if got := Guard("javascript", source, true); (got != "") != refused {
			t.Errorf("%s: %q", source, got)
		}
	}
	if got := Guard("python", "import urllib.request", true); got != "" {
		t.Error(got)
	}
}

func TestGuardLetsThrough(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ language, source string }{
		"computation":             {"javascript", "const a = [1, 2, 3]\na.reduce((x, y) => x + y) / a.length"},
		"harmless modules":        {"javascript", "const { createHash } = require('node:crypto'); const u = require('util'); import('path')"},
		"comments":                {"javascript", "// require('fs')\n/* eval('1')\n process.exit() */ 1"},
		"strings":                 {"javascript", `"require('fs')" + 'eval(1)' + ` + "`process.exit() ${1} fetch(x)`" + ` + "it's \" new Function(x)"`},
		"methods of those names":  {"javascript", "db.fetch(1); math.eval('1'); scope.require('fs'); job.process.exit(1); queue.process(x); Array.from('fs')"},
		"functions of that name":  {"javascript", "function fetch(x) { return x }\nconst process = x => x; process(1)"},
		"a class":                 {"javascript", "class A { constructor(x) { this.x = x } }\nnew A('x').constructor.name"},
		"printing":                {"javascript", "process.stdout.write('a'); process.argv; process.memoryUsage()"},
		"pythonic computation":    {"python", "import math, json, re, sys\nfrom collections import Counter\nfrom urllib.parse import quote\nmath.pi"},
		"python's comments":       {"python", "# import os\nx = 1  # open('f')"},
		"python's strings":        {"python", "'import os'\n\"\"\"\nimport os\nexec('x')\n\"\"\"\nf'open(1)'"},
		"python's methods":        {"python", "re.compile('x'); zf.open('f'); ast.literal_eval('1'); pd.eval('1')"},
		"python's own names":      {"python", "def open(x): return x\nimportant = 1\nfrom_os = 2\nraise ValueError from None"},
		"a name with os in it":    {"python", "import oslo, subprocess_like\nfrom codecs import open as o"},
		"within brackets":         {"python", "x = [\n  1,\n]\ny = {'a': 1}"},
		"nothing":                 {"python", ""},
		"of another language":     {"ruby", "require('fs')"},
		"javascript's last slash": {"javascript", "1 /"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Guard(tt.language, tt.source, false); got != "" {
				t.Errorf("refused: %s", got)
			}
		})
	}
}

// TestWorst checks that the longest source takes little time and memory, for any content.
func TestWorst(t *testing.T) {
	most := worst.Cost{Stack: worst.Race << 20, Heap: worst.Race * 64 << 20, Time: 10 * time.Second}
	for _, unit := range []string{"/[", "`${", "/", "'\\", "/*", "a ", "from a import b:", "from urllib import (", "require(", "import a, ", "process.", "\n", "rb'''"} {
		source := strings.Repeat(unit, toolapi.MaxArgumentsBytes/len(unit))
		for _, language := range []string{"javascript", "python"} {
			worst.Within(t, language+" of "+unit, most, func() { Guard(language, source, false) })
		}
	}
}

// For any code, the guard ends in a time that its length bounds, with a message that is short and
// names an existing line.
func FuzzGuard(f *testing.F) {
	for _, seed := range []string{"", "`${`${", "'\\", "/[", "/*", "'''", "rb'", "import a.b.", "from . import os", "require(", "\\\n", "}}}`", "process["} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, source string) {
		for _, language := range []string{"javascript", "python"} {
			got := Guard(language, source, false)
			if len(got) > 200 || strings.Contains(got, "\n") {
				t.Errorf("%s: %q gives %q", language, source, got)
			}
			if got != Guard(language, source, false) {
				t.Errorf("%s: %q is judged twice in two ways", language, source)
			}
		}
	})
}
