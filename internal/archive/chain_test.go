// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/archive"
)

func TestWhatIsWrittenIsRead(t *testing.T) {
	t.Parallel()
	for name, steps := range map[string][]*v1alpha1.MotorStep{"five steps": testSteps(), "none": nil, "a large one": {testStep(1, 1, func(s *v1alpha1.MotorStep) {
		s.Spec.Content = strings.Repeat("<&>", 400_000)
	})}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, want := write(t, testRun(), steps...)
			for how, r := range map[string]io.Reader{"at once": bytes.NewReader(data), "in halves": iotest.HalfReader(bytes.NewReader(data)), "with its end": iotest.DataErrReader(bytes.NewReader(data))} {
				got, err := archive.Read(r, want.Head)
				if err != nil {
					t.Fatalf("%s: %v", how, err)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-written +read):\n%s", how, diff)
				}
			}
			if len(want.Steps) != len(steps) || want.Name != "run" || want.UID != "run-uid" || !archive.IsDigest(want.Head) {
				t.Errorf("manifest %+v", want)
			}
			if again, _ := write(t, testRun(), steps...); !bytes.Equal(data, again) {
				t.Error("the same run gives other bytes the second time")
			}
		})
	}
}

// Archives outlive the program: the file was written by its first version that wrote archives. A format that cannot read
// it is another one, with another Genesis, and is read beside this one.
func TestOldArchive(t *testing.T) {
	t.Parallel()
	f, err := os.Open(filepath.Join("testdata", "v1.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := archive.Verify(f, ""); err != nil {
		t.Error(err)
	}
}

func TestFormat(t *testing.T) {
	t.Parallel()
	data, m := write(t, testRun(), testStep(1, 1))
	lines := strings.SplitAfter(strings.TrimSuffix(string(data), "\n"), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines", len(lines))
	}
	prev := archive.Genesis
	for i, l := range lines {
		// This is the manual check of docs/guides/archive.md, without this program.
		at := strings.LastIndex(l, `,"digest":`)
		sum := sha256.Sum256([]byte(l[:at]))
		digest := "sha256:" + hex.EncodeToString(sum[:])
		var got struct {
			Seq                int
			Prev, Kind, Digest string
			Object             map[string]any
		}
		if err := json.Unmarshal([]byte(l), &got); err != nil {
			t.Fatal(err)
		}
		if got.Seq != i+1 || got.Prev != prev || got.Digest != digest || got.Kind != []string{"MotorRun", "MotorStep", "End"}[i] {
			t.Errorf("line %d is %d %s %s %s, want digest %s after %s", i+1, got.Seq, got.Kind, got.Prev, got.Digest, digest, prev)
		}
		prev = digest
	}
	if want := `{"seq":3,"prev":"PREV","kind":"End","object":{"steps":1,"head":"PREV"},"digest":"` + m.Head + `"}`; regexp.MustCompile(`("(?:prev|head)":)"sha256:[0-9a-f]{64}"`).ReplaceAllString(lines[2], `$1"PREV"`) != want {
		t.Errorf("the last line is %s", lines[2])
	}
	for _, secret := range []string{"managedFields", "resourceVersion", "last-applied", "observedGeneration", "generation\""} {
		if strings.Contains(string(data), secret) {
			t.Errorf("the archive has %s", secret)
		}
	}
	if !strings.Contains(lines[0], `count <words> & \"quotes\" — ünïcode`) {
		t.Errorf("the task is not as it was given: %s", lines[0])
	}
}

func TestEveryChangeIsFound(t *testing.T) {
	t.Parallel()
	data, m := write(t, testRun(), testSteps()...)
	other, _ := write(t, testRun(func(r *v1alpha1.MotorRun) { r.UID = "other-uid" }))
	lines := bytes.SplitAfter(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
	lines[6] = append(lines[6], '\n') // the split left it without
	type edit func([][]byte) [][]byte
	replace := func(n int, old, by string) edit {
		return func(l [][]byte) [][]byte {
			if !bytes.Contains(l[n-1], []byte(old)) {
				t.Fatalf("line %d has no %q", n, old)
			}
			l[n-1] = bytes.Replace(l[n-1], []byte(old), []byte(by), 1)
			return l
		}
	}
	remove := func(from, to int) edit { return func(l [][]byte) [][]byte { return slices.Delete(l, from-1, to) } }
	tests := map[string]struct {
		edit    edit
		line    int
		name    string
		problem string
	}{
		"nothing in it":         {remove(1, 7), 1, "", "nothing in the file"},
		"first line removed":    {remove(1, 1), 1, "run-a01-s0001", "carries the number 2"},
		"a step removed":        {remove(3, 3), 3, "run-a01-s0010", "carries the number 4"},
		"several steps removed": {remove(3, 5), 3, "run-a02-s0002", "carries the number 6"},
		"last step removed":     {remove(6, 6), 6, "", "carries the number 7"},
		"end removed":           {remove(7, 7), 7, "", "cut off after run-a02-s0002"},
		"all but the run gone":  {remove(2, 7), 2, "", "cut off after the run"},
		"cut in a line": {func(l [][]byte) [][]byte {
			l[4] = l[4][:len(l[4])/2]
			return l[:5]
		}, 5, "", "no line feed"},
		"cut before the last line feed": {func(l [][]byte) [][]byte {
			l[6] = bytes.TrimSuffix(l[6], []byte("\n"))
			return l
		}, 7, "", "no line feed"},
		"two steps swapped": {func(l [][]byte) [][]byte { l[2], l[3] = l[3], l[2]; return l }, 3, "run-a01-s0010", "carries the number 4"},
		"a step twice":      {func(l [][]byte) [][]byte { return slices.Insert(l, 3, l[2]) }, 4, "run-a01-s0002", "carries the number 3"},
		"a line of another chain": {func(l [][]byte) [][]byte {
			l[0], _, _ = bytes.Cut(other, []byte("\n"))
			l[0] = append(l[0], '\n')
			return l
		}, 2, "run-a01-s0001", "does not follow from the line before it (the run)"},
		"an empty line":           {func(l [][]byte) [][]byte { return slices.Insert(l, 2, []byte("\n")) }, 3, "", "not written as"},
		"something after the end": {func(l [][]byte) [][]byte { return append(l, []byte("{}\n")) }, 8, "", "not written as"},
		"the end twice":           {func(l [][]byte) [][]byte { return append(l, l[6]) }, 8, "", "after the end"},
		"blanks after the end":    {func(l [][]byte) [][]byte { return append(l, []byte(" ")) }, 8, "", "no line feed"},
		"output changed":          {replace(4, "line one", "line 0ne"), 4, "run-a01-s0010", "was changed"},
		"a name changed":          {replace(4, "run-a01-s0010", "run-a01-s0011"), 4, "run-a01-s0011", "was changed"},
		"the number changed":      {replace(4, `"seq":4`, `"seq":5`), 4, "run-a01-s0010", "was changed"},
		"the kind changed":        {replace(4, `"kind":"MotorStep"`, `"kind":"MotorRun"`), 4, "run-a01-s0010", "was changed"},
		"prev changed":            {replace(4, `"prev":"sha256:`, `"prev":"sha256:0`), 4, "run-a01-s0010", "was changed"},
		"a digest changed":        {replace(4, `"}`+"\n", `0"}`+"\n"), 4, "run-a01-s0010", "not written as"},
		"a blank added":           {replace(4, `"object":{`, `"object": {`), 4, "run-a01-s0010", "was changed"},
		"a blank at the line end": {replace(4, "}\n", "} \n"), 4, "run-a01-s0010", "not written as"},
		"Windows line ends":       {replace(1, "}\n", "}\r\n"), 1, "run", "not written as"},
		"the digest in capitals": {func(l [][]byte) [][]byte {
			at := bytes.LastIndex(l[3], []byte("sha256:")) + 7
			copy(l[3][at:], bytes.ToUpper(l[3][at:]))
			return l
		}, 4, "run-a01-s0010", "not written as"},
		"the count changed":        {replace(7, `"steps":5`, `"steps":4`), 7, "", "was changed"},
		"a byte order mark before": {replace(1, `{"seq"`, "\ufeff"+`{"seq"`), 1, "", "was changed"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var copied [][]byte
			for _, l := range lines {
				copied = append(copied, bytes.Clone(l))
			}
			edited := bytes.Join(tt.edit(copied), nil)
			b := broken(t, edited, "")
			if b == nil {
				t.Fatal("it was not noticed")
			}
			if b.Line != tt.line || b.Name != tt.name || !strings.Contains(b.Problem, tt.problem) {
				t.Errorf("got %v, want line %d, name %q, %q", b, tt.line, tt.name, tt.problem)
			}
			if broken(t, edited, m.Head) == nil {
				t.Error("with the head it was not noticed")
			}
		})
	}
	if b := broken(t, data, m.Head); b != nil {
		t.Errorf("the tests changed the original: %v", b)
	}
}

// An attacker who writes the whole file anew gets a chain that holds. Its head shows that it is another one.
func TestFileWrittenAnew(t *testing.T) {
	t.Parallel()
	_, m := write(t, testRun(), testSteps()...)
	forged, _ := write(t, testRun(), testStep(1, 1), testStep(1, 2, func(s *v1alpha1.MotorStep) { s.Spec.Content = "never thought" }))
	if b := broken(t, forged, ""); b != nil {
		t.Fatalf("the forged chain does not hold in itself: %v", b)
	}
	if b := broken(t, forged, m.Head); b == nil || b.Line != 4 || !strings.Contains(b.Problem, "written anew") {
		t.Errorf("got %v", b)
	}
}

// A chain of right digests that is not of one run, in order, is none.
func TestChainsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		run     *v1alpha1.MotorRun
		steps   []*v1alpha1.MotorStep
		line    int
		problem string
	}{
		"attempts out of order": {testRun(), []*v1alpha1.MotorStep{testStep(2, 1), testStep(1, 2)}, 3, "does not come after run-a02-s0001"},
		"steps out of order":    {testRun(), []*v1alpha1.MotorStep{testStep(1, 10), testStep(1, 2)}, 3, "does not come after run-a01-s0010"},
		"a step of another run": {testRun(), []*v1alpha1.MotorStep{testStep(1, 1, func(s *v1alpha1.MotorStep) { s.OwnerReferences[0].UID = "other" })}, 2, "of another run"},
		"another namespace":     {testRun(), []*v1alpha1.MotorStep{testStep(1, 1, func(s *v1alpha1.MotorStep) { s.Namespace = "other" })}, 2, "of another run"},
		"a name twice":          {testRun(), []*v1alpha1.MotorStep{testStep(1, 1), testStep(1, 2, func(s *v1alpha1.MotorStep) { s.Name = "run-a01-s0001" })}, 3, "of that name"},
		"a run without UID":     {testRun(func(r *v1alpha1.MotorRun) { r.UID = "" }), nil, 1, "no MotorRun"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, _ := write(t, tt.run, tt.steps...)
			if b := broken(t, data, ""); b == nil || b.Line != tt.line || !strings.Contains(b.Problem, tt.problem) {
				t.Errorf("got %v, want line %d, %q", b, tt.line, tt.problem)
			}
		})
	}
}

func TestHostileNamesAreHarmless(t *testing.T) {
	t.Parallel()
	data, _ := write(t, testRun(), testStep(1, 1, func(s *v1alpha1.MotorStep) { s.Name = "\x1b[2J" + strings.Repeat("ä", 1000); s.Namespace = "x" }))
	b := broken(t, data, "")
	if b == nil || len(b.Error()) > 500 || strings.ContainsAny(b.Error(), "\x1b\n") {
		t.Errorf("got %q", b)
	}
}

func TestLinesAreBounded(t *testing.T) {
	t.Parallel()
	endless := io.MultiReader(strings.NewReader(`{"seq":1,`), neverEnding('a'))
	var b *archive.BrokenLink
	if err := archive.Verify(endless, ""); !errors.As(err, &b) || b.Line != 1 || !strings.Contains(b.Problem, "bytes") {
		t.Errorf("got %v", err)
	}
	_, err := writeTo(io.Discard, testRun(), testStep(1, 1, func(s *v1alpha1.MotorStep) { s.Spec.Content = strings.Repeat("x", archive.MaxLine) }))
	if err == nil || !strings.Contains(err.Error(), "run-a01-s0001") {
		t.Errorf("a line that nobody can read was written: %v", err)
	}
}

type neverEnding byte

func (b neverEnding) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(b)
	}
	return len(p), nil
}

func TestErrorsOfReaderAndWriter(t *testing.T) {
	t.Parallel()
	data, _ := write(t, testRun(), testSteps()...)
	away := errors.New("away")
	var b *archive.BrokenLink
	err := archive.Verify(io.MultiReader(bytes.NewReader(data[:len(data)/2]), iotest.ErrReader(away)), "")
	if !errors.Is(err, away) || errors.As(err, &b) {
		t.Errorf("what could not be read is called broken: %v", err)
	}
	if _, err := writeTo(failingWriter{away}, testRun()); !errors.Is(err, away) {
		t.Errorf("got %v", err)
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }
