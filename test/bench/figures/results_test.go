// SPDX-License-Identifier: Apache-2.0

package figures

import (
	"errors"
	"flag"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestProgramsAddToOneFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bench.json")
	put := func(machine string, r Report) {
		t.Helper()
		results := Results{File: file, Machine: machine}
		if err := results.Put(io.Discard, r); err != nil {
			t.Fatal(err)
		}
	}
	put("a", Report{Figures: []Figure{oneshot(1)}, Path: []Mark{{"Pod", 1}}, Warm: []Mark{{"Pod", 2}}})
	put("b", Report{Figures: []Figure{tunnel(1), oneshot(2)}})
	got, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Figures) != 2 || got.Figures[0].Name != "tunnel" || got.Figures[1].P50 != 2000 || len(got.Path) != 1 || len(got.Warm) != 1 || got.Machine != "b" {
		t.Errorf("%+v", got)
	}
	if _, err := time.Parse(time.DateOnly, got.Date); err != nil {
		t.Error(err)
	}
}

func TestFiguresAreComparedWithTheFileThatIsWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bench.json")
	first := Results{File: file}
	if err := first.Put(io.Discard, Report{Figures: []Figure{oneshot(1)}}); err != nil {
		t.Fatal(err)
	}
	second := Results{File: file, CompareTo: file}
	if err := second.Open(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	if err := second.Put(&said, Report{Figures: []Figure{oneshot(1.3)}}); !errors.Is(err, ErrMissed) || !strings.Contains(said.String(), "6.50 times plain Pod, and it was 5.00 times on") {
		t.Errorf("%v: %s", err, said.String())
	}
}

func TestABoundThatIsMissedIsAnError(t *testing.T) {
	var r Results
	var said strings.Builder
	if err := r.Put(&said, Report{Figures: []Figure{oneshot(1).Within(1, "the bound")}}); !errors.Is(err, ErrMissed) || !strings.Contains(said.String(), "it must be at most 1.00 ms") {
		t.Errorf("%v: %s", err, said.String())
	}
}

func TestFilesWithoutFigures(t *testing.T) {
	folder := t.TempDir()
	none, broken := filepath.Join(folder, "none"), filepath.Join(folder, "broken")
	if err := os.WriteFile(broken, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	var r Results
	flags := flag.NewFlagSet("test", flag.ContinueOnError)
	r.Flags(flags)
	if err := flags.Parse([]string{"-compare", none, "-json", broken}); err != nil {
		t.Fatal(err)
	}
	if err := r.Open(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there was read: %v", err)
	}
	if err := r.Put(io.Discard, Report{}); err == nil || !strings.Contains(err.Error(), broken+" has no figures") {
		t.Errorf("a file without figures was written to: %v", err)
	}
}
