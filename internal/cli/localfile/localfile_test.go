// SPDX-License-Identifier: Apache-2.0

package localfile_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/cli/localfile"
)

func TestSplit(t *testing.T) {
	t.Parallel()
	for arg, want := range map[string][2]string{
		"a.csv":           {"a.csv", "a.csv"},
		"./data/b.csv":    {"./data/b.csv", "data/b.csv"},
		"/home/x/b.csv":   {"/home/x/b.csv", "b.csv"},
		"data/../../c":    {"data/../../c", "c"},
		"a.csv=in/d.csv":  {"a.csv", "in/d.csv"},
		"a.csv=":          {"a.csv", ""},
		"a.csv=with=sign": {"a.csv", "with=sign"},
	} {
		if from, to := localfile.Split(arg); from != want[0] || to != want[1] {
			t.Errorf("%s: %q, %q", arg, from, to)
		}
	}
}

func TestRead(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("most", []byte("\x00234"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir("folder", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/zero", "endless"); err != nil {
		t.Fatal(err)
	}
	if got, err := localfile.Read("most", 4); err != nil || string(got) != "\x00234" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := localfile.Read("most", 3); !errors.Is(err, localfile.ErrTooLarge) {
		t.Errorf("too large: %v", err)
	}
	for name, want := range map[string]string{"folder": "it is a folder: name its files", "endless": "it is no file", "gone": "no such file"} {
		if _, err := localfile.Read(name, 4); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
