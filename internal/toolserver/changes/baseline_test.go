// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func writeFile(path string, content []byte) error { return os.WriteFile(path, content, 0o600) }

func openBaseline(t testing.TB, dir string) *Baseline {
	t.Helper()
	b, err := OpenBaseline(dir, writeFile)
	must(t, err)
	return b
}

func TestBaselineIsThereAfterARestart(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "given")
	b := openBaseline(t, dir)
	must(t, b.Put("b/odd\n\xff", []byte("line\n\x00"), true))
	must(t, b.Put("a", nil, false))
	must(t, b.Put("a", []byte("later"), false))
	must(t, b.PutSum("large", 5<<20, strings.Repeat("0", 64), false))
	must(t, os.WriteFile(filepath.Join(dir, "temp-123"), []byte("half"), 0o600))
	again := openBaseline(t, dir)
	files := again.Files()
	if len(files) != 3 || files[0].Path != "a" || !files[0].Whole || files[2].Path != "large" || files[2].Whole || !files[1].Executable {
		t.Fatalf("%+v", files)
	}
	if d := cmp.Diff(b.Files()[:1], files[:1]); d != "" || again.total != b.total {
		t.Errorf("%d and %d bytes: %s", b.total, again.total, d)
	}
	for i, want := range []string{"later", "line\n\x00"} {
		if got, err := again.Content(files[i]); err != nil || string(got) != want {
			t.Errorf("%q: %q, %v", files[i].Path, got, err)
		}
	}
}

func TestBaselineIsBounded(t *testing.T) {
	t.Parallel()
	b := openBaseline(t, t.TempDir())
	must(t, b.Put("too-large", make([]byte, MaxGivenBytes+1), false))
	if b.files["too-large"].Whole || b.files["too-large"].Size != MaxGivenBytes+1 {
		t.Errorf("%+v", b.files["too-large"])
	}
	b.total = maxGivenTotal - 4
	must(t, b.Put("fits", []byte("1234"), false))
	must(t, b.Put("more", []byte("5"), false))
	if !b.files["fits"].Whole || b.files["more"].Whole {
		t.Errorf("%+v", b.files)
	}
	must(t, b.Put("fits", []byte("4321"), false))
	if !b.files["fits"].Whole || b.total != maxGivenTotal {
		t.Errorf("put again it is %+v, and %d bytes are kept", b.files["fits"], b.total)
	}
	for i := len(b.files); i < maxGiven; i++ {
		b.files[strings.Repeat("x", i)] = Given{}
	}
	if err := b.Put("one more", nil, false); !errors.Is(err, errGivenFull) {
		t.Errorf("one more: %v", err)
	}
}

// A record that differs from the written one is not taken for a given file.
func TestBaselineNoticesDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := openBaseline(t, dir)
	must(t, b.Put("a", []byte("content"), false))
	record := filepath.Join(dir, recordName("a"))
	must(t, os.Truncate(record, 120))
	if _, err := b.Content(b.Files()[0]); err == nil {
		t.Error("a record that was cut is read")
	}
	must(t, os.WriteFile(record, []byte("{"), 0o600))
	if _, err := OpenBaseline(dir, writeFile); err == nil {
		t.Error("a record that is none is read")
	}
}

func TestBaselineWritesNothingTwice(t *testing.T) {
	t.Parallel()
	writes := 0
	b, err := OpenBaseline(t.TempDir(), func(string, []byte) error { writes++; return nil })
	must(t, err)
	for range 3 {
		must(t, b.Put("a", []byte("x"), false))
	}
	must(t, b.Put("a", []byte("x"), true))
	if writes != 2 {
		t.Errorf("%d writes", writes)
	}
}
