// SPDX-License-Identifier: Apache-2.0

package ini

import (
	"strings"
	"testing"
)

const hiddenText = "[child : base , other]\nport = 2\n[base:deep]\nhost = a\nport = 1\n[deep]\nz = deep\nhost = no\n[other]\nz = other\nw = 1\n[child: last]\nq = 1\n[last]\nw = 2\nv = 3\n"

func TestHiddenInherit(t *testing.T) {
	f, err := Parse(hiddenText)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"port": "2", "host": "a", "z": "deep", "w": "1", "q": "1", "v": "3"} {
		if v, ok := f.Get("child", key); v != want || !ok {
			t.Errorf("%s is %q %t", key, v, ok)
		}
	}
	if _, ok := f.Get("deep", "port"); ok {
		t.Error("a parent has what its child has")
	}
	if _, ok := f.Get("none", "x"); ok {
		t.Error("there is no such section")
	}
	if got := strings.Join(f.Sections(), " "); got != "child base deep other last" {
		t.Errorf("sections %s", got)
	}
}

func TestHiddenErrors(t *testing.T) {
	for text, line := range map[string]string{
		"[b]\n[a : none]\n": "line 2:", "\n[a : a]\n": "line 2:", "[a:b]\n[b:c]\nx=1\n[c:a]\n": "line ", "[a": "line 1:", "x=1": "line 1:",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), line) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := Parse("[a:b,c]\n[b:d]\n[c:d]\n[d]\n"); err != nil {
		t.Errorf("a diamond: %v", err)
	}
}
