// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/test/worst"
)

// TestWorstManifest has the front matter of a SKILL.md take no more than the manager has for each of its passes.
func TestWorstManifest(t *testing.T) {
	for _, unit := range []string{
		"[", "{a: ", "- ", "? ", "a: ", "a: [", "[a, ", "{", "? {", "&a [", "*a ", "!!map {", "!a ", "\"\\u0000", "a\n", "- a\n", "a: b\n", "'", "|\n ", "a: |\n ", "#\n", "---\n", "%A b\n", "[],", "{},", "- [", "<<: ",
		"\t", "a:\n  ", "&a\n", "[*a,",
	} {
		text := "---\n" + strings.Repeat(unit, (MaxFrontBytes-8)/len(unit)) + "\n---\n"
		worst.Within(t, "front matter of "+unit, worst.Cost{Stack: worst.Race * 16 << 20, Heap: worst.Race * 192 << 20, Time: 30 * time.Second}, func() {
			_, _ = ParseManifest([]byte(text)) // Most of it is none.
		})
	}
	indented := strings.Builder{}
	for i := 0; indented.Len() < MaxFrontBytes-1024; i++ {
		fmt.Fprintf(&indented, "%s- \n", strings.Repeat(" ", min(i, 400)))
	}
	worst.Within(t, "indented front matter", worst.Cost{Stack: worst.Race * 16 << 20, Heap: worst.Race * 192 << 20, Time: 30 * time.Second}, func() {
		_, _ = ParseManifest([]byte("---\n" + indented.String() + "\n---\n"))
	})
}

// TestWorstFacts has the largest files of each kind take no more than the manager has for each of its passes.
func TestWorstFacts(t *testing.T) {
	for _, unit := range []string{
		"a|", "https://a.example/ ", "$A ", "process.env.A ", "\u202e", "QUJD", "QUJD\n", "a\n", "```sh\n", "~~~", "://", "AKIA0000000000000000 ", "api_key = '", "-----BEGIN PRIVATE KEY-----\n", "((", "<credential:", "VAULT_A ",
	} {
		var files []File
		for i := range 10 {
			content := strings.Repeat(unit, MaxFileBytes/len(unit))
			files = append(files, File{Path: fmt.Sprintf("scripts/%d.sh", i), Content: []byte(content), Executable: true})
		}
		for i := range 16 {
			files = append(files, File{Path: fmt.Sprintf("references/%d.sh", i), Content: []byte(strings.Repeat(unit, (32<<10)/len(unit)))})
		}
		worst.Within(t, "files of "+unit, worst.Cost{Stack: worst.Race * 16 << 20, Heap: worst.Race * 512 << 20, Time: 5 * time.Minute}, func() {
			Facts(files, nil)
		})
	}
}
