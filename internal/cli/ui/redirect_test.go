// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestARedirectLeadsToTheLinkWithoutAScript(t *testing.T) {
	t.Parallel()
	r, err := newRedirect(`http://127.0.0.1:1/#code=A"><script>`)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(r.path)
	if err != nil || !strings.Contains(string(b), `content="0;url=http://127.0.0.1:1/#code=A&#34;&gt;&lt;script&gt;"`) || strings.Contains(string(b), "<script") {
		t.Errorf("%v: %s", err, b)
	}
	for range 2 {
		if err := r.remove(); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(filepath.Dir(r.path)); !os.IsNotExist(err) {
		t.Errorf("the folder stays: %v", err)
	}
	if err := (*redirect)(nil).remove(); err != nil {
		t.Error(err)
	}
}

// No t.Parallel: the folder of temporary files is of the process.
func TestARedirectThatCannotBeWrittenIsAnError(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	t.Setenv("TMP", os.Getenv("TMPDIR"))
	if r, err := newRedirect("http://127.0.0.1:1/"); err == nil || r != nil || !strings.Contains(err.Error(), "write the file") {
		t.Errorf("%v, %v", r, err)
	}
}
