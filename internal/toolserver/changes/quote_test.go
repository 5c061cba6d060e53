// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
)

func TestQuoted(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"a/b.txt": "a/a/b.txt", "with space": "a/with space", "漢字/é": "a/漢字/é", "q\"": `"a/q\""`, "b\\s": `"a/b\\s"`, "t\tn\n": `"a/t\tn\n"`,
		"\x01": `"a/\001"`, "bad\xff": `"a/bad\377"`, "\u202e": `"a/\342\200\256"`, "\uFFFD": `a/` + "\uFFFD",
	} {
		if got := quoted("a/", path); got != want {
			t.Errorf("%q: %s, want %s", path, got, want)
		}
	}
}

// git applies no diff that has one of some names in it, so they must not be in one.
func TestNamesThatGitRefuses(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		"a": false, "a/b": false, ".gitignore": false, ".github/x": false, "a..b": false, "...": true, "git~2": false, "a.git": false, "a\\b": false,
		".git/config": true, "a/.git": true, "a/.GIT/hooks": true, ".git /x": true, ".git./x": true, "git~1/x": true, "a\\.git\\x": true, ".git::$INDEX_ALLOCATION": true,
		".g\u200cit/x": true, strings.Repeat("a/", 600) + "b": true,
	} {
		if got := gitRefuses(path); got != want {
			t.Errorf("%q: refused is %t", path, got)
		}
		if want {
			continue
		}
		cmd := exec.CommandContext(t.Context(), "git", "apply", "--check", "-")
		cmd.Dir, cmd.Stdin = t.TempDir(), bytes.NewReader(writeSection(path, nil, &side{content: []byte("x\n")}))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%q: git says %s", path, out)
		}
	}
}
