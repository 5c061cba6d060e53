// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"regexp"
	"strings"
	"testing"
)

var goBlock = regexp.MustCompile("(?ms)^```go\n(.*?)^```$")

// The Go code of the guide is that of a test, which compiles it and runs it against a real API server.
func TestTheGuidesGoCodeIsTested(t *testing.T) {
	t.Parallel()
	const page, source = "docs/guides/go-client.md", "test/api/client_go_test.go"
	tested := read(t, source)
	blocks := goBlock.FindAllStringSubmatch(read(t, page), -1)
	if len(blocks) == 0 {
		t.Fatalf("%s has no Go code", page)
	}
	for _, block := range blocks {
		code, isImport := strings.CutPrefix(block[1], "import (\n")
		if !isImport {
			if !strings.Contains(tested, code) {
				t.Errorf("%s has code that is not in %s:\n%s", page, source, code)
			}
			continue
		}
		for line := range strings.Lines(strings.TrimSuffix(code, ")\n")) {
			if !strings.Contains(tested, line) {
				t.Errorf("%s imports %s, and %s does not", page, line, source)
			}
		}
	}
}
