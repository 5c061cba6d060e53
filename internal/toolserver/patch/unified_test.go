// SPDX-License-Identifier: Apache-2.0

package patch

import "testing"

func TestPlainFile(t *testing.T) {
	for name, test := range map[string]struct{ old, made, from, to string }{
		"git":       {"--- a/x/y\n", "+++ b/x/y\n", "x/y", "x/y"},
		"plain":     {"--- x\n", "+++ x\n", "x", "x"},
		"backup":    {"--- x.orig\t2024-01-02 03:04:05 +0100\n", "+++ x\n", "x", "x"},
		"new":       {"--- /dev/null\n", "+++ b/x\r\n", "", "x"},
		"gone":      {"--- a/x\n", "+++ /dev/null\n", "x", ""},
		"quoted":    {"--- \"a/\\303\\274\"\n", "+++ \"b/\\303\\274\"\n", "ü", "ü"},
		"by time":   {"--- x\t1970-01-01 00:00:00.000000000 +0000\n", "+++ x\n", "", "x"},
		"same tree": {"--- b/x\n", "+++ b/x\n", "b/x", "b/x"},
	} {
		f, err := plainFile(test.old, test.made)
		if err != nil || f.From != test.from || f.To != test.to {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
	for _, pair := range [][2]string{{"--- \n", "+++ x\n"}, {"--- /dev/null\n", "+++ /dev/null\n"}, {"--- x\n", "+++ y\n"}, {"--- \"x\n", "+++ \"x\n"}} {
		if f, err := plainFile(pair[0], pair[1]); err == nil {
			t.Errorf("%q: %+v", pair, f)
		}
	}
}
