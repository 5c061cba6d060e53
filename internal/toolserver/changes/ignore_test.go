// SPDX-License-Identifier: Apache-2.0

package changes

import "testing"

func TestIgnores(t *testing.T) {
	t.Parallel()
	ig := newIgnores([]Given{{Path: "web/dist/index.html"}, {Path: "a"}}, []string{".motor", "artifacts", "out/saved.csv"})
	for path, want := range map[string]bool{
		".motor": true, ".motor/x": true, "artifacts/a": true, "out/saved.csv": true, ".git": true, "sub/.git/HEAD": true, "a": false, "artifacts2": false,
		"out": false, ".gitignore": false, "sub/artifacts/x": false,
	} {
		if got := ig.excluded(path); got != want {
			t.Errorf("%s: excluded is %t", path, got)
		}
	}
	for _, tt := range []struct {
		path      string
		dir, want bool
	}{
		{"node_modules", true, true}, {"a/b/__pycache__", true, true}, {"target", true, true}, {"target", false, false}, {"web/dist", true, false}, {"dist", true, true},
		{"x.pyc", false, true}, {"x.py", false, false}, {"src/main.o", false, true}, {"x.egg-info", true, true}, {".npm", true, true}, {"sub/.npm", true, false},
		{".bash_history", false, true}, {"go", true, false}, {"go/pkg", true, true}, {"src", true, false}, {"lost+found", true, true}, {"a.o", true, false},
	} {
		if got := ig.built(tt.path, tt.dir); got != tt.want {
			t.Errorf("%s: build output is %t", tt.path, got)
		}
	}
}
