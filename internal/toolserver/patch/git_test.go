// SPDX-License-Identifier: Apache-2.0

package patch

import "testing"

func TestNamesOfGitLine(t *testing.T) {
	for line, want := range map[string][2]string{
		"a/x b/x": {"a/x", "b/x"}, "x x": {"x", "x"}, "a/with space b/with space": {"a/with space", "b/with space"}, `"a/x" "b/x"`: {"a/x", "b/x"}, `"a/x" b/x`: {"a/x", "b/x"},
	} {
		from, to, err := namesOfGitLine(line)
		if err != nil || from != want[0] || to != want[1] {
			t.Errorf("%q: %q, %q, %v", line, from, to, err)
		}
	}
	for _, line := range []string{"", "a/x", "a/x b/y", "a b c", `"a/x`} {
		if from, to, err := namesOfGitLine(line); err == nil {
			t.Errorf("%q: %q, %q", line, from, to)
		}
	}
}

// A header that cannot be applied is read to its end: the rest of it is not that of another file.
func TestGitHeaderWithProblem(t *testing.T) {
	files, err := Parse("diff --git a/l b/l\nnew file mode 120000\nindex 0..1\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc/passwd\n")
	if err != nil || len(files) != 1 || files[0].Problem == nil || len(files[0].Hunks) > 0 {
		t.Errorf("%+v, %v", files, err)
	}
}
