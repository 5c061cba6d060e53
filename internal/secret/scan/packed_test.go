// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/test/worst"
)

// gitDiff is git's diff between a former content and the present one of a file.
func gitDiff(t *testing.T, name string, before, now []byte) []byte {
	t.Helper()
	dir := t.TempDir()
	for side, content := range map[string][]byte{"a": before, "b": now} {
		if err := os.MkdirAll(filepath.Join(dir, side), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, side, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "git", "diff", "--no-index", "--no-prefix", "--binary", "--full-index", "a/"+name, "b/"+name)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.Output()
	if err != nil && cmd.ProcessState.ExitCode() != 1 { // Status 1 means that they differ.
		t.Fatalf("%v\n%s", err, out)
	}
	return out
}

func noise(seed uint64, n int) []byte {
	rng := rand.New(rand.NewPCG(seed, 0))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

func unpackAll(diff []byte) (all []Packed, err error) {
	for p, oneErr := range Unpack(diff) {
		if err = oneErr; err == nil {
			all = append(all, p)
		}
	}
	return all, err
}

// Both directions of git's packed contents are unpacked: a diff can be applied backwards.
func TestUnpackWhatGitPacks(t *testing.T) {
	t.Parallel()
	for n := 1; n < 60; n++ {
		before, now := append(noise(1, n), 0), append(noise(2, n*n), 0)
		diff := append(gitDiff(t, "file.dat", before, now), gitDiff(t, "other", []byte("x\n"), []byte("literal 3\n"))...)
		got, err := unpackAll(diff)
		if err != nil || len(got) != 2 || !bytes.Equal(got[0].Content, now) || !bytes.Equal(got[1].Content, before) || got[0].Path != "file.dat" {
			t.Fatalf("%d: %v, %d contents\n%s", n, err, len(got), diff)
		}
		if line := strings.Split(string(diff), "\n")[got[1].Line-1]; line != fmt.Sprintf("literal %d", len(before)) {
			t.Errorf("%d: it begins at %q", n, line)
		}
	}
}

func TestWhatCannotBeUnpacked(t *testing.T) {
	t.Parallel()
	good := string(gitDiff(t, "a", []byte("\x00a"), append([]byte(awsKey), 0)))
	first := strings.Index(good, "literal ")
	body := strings.Index(good[first:], "\n") + first + 1
	size := len(awsKey) + 1
	for name, diff := range map[string]string{
		"cut off":            good[:body+10],
		"without an end":     strings.TrimRight(good[:body+strings.Index(good[body:], "\n\n")], "\n"),
		"another size":       strings.Replace(good, fmt.Sprint("literal ", size), fmt.Sprint("literal ", size-1), 1),
		"no size":            good[:first] + "literal x\n" + good[body:],
		"less than nothing":  good[:first] + "literal -1\n" + good[body:],
		"too large":          good[:first] + fmt.Sprint("literal ", MaxPackedBytes+1) + "\n" + good[body:],
		"another digit":      good[:body+1] + `"` + good[body+2:],
		"another length":     good[:body] + "A" + good[body+1:],
		"no length":          good[:body] + "0" + good[body+1:],
		"too large a number": good[:body+1] + "~~~~~" + good[body+6:],
		"no stream":          good[:first] + "literal 4\nD00000\n\n",
		"nothing":            good[:first] + "literal 4\n\n",
		"a delta":            string(gitDiff(t, "a", append(noise(3, 4000), 0), append(noise(3, 4000), 0, 1))),
		"line ends":          strings.ReplaceAll(good, "\n", "\r\n"),
		"without a head":     good[first:body] + "x\n\n",
	} {
		if _, err := unpackAll([]byte(diff)); err == nil {
			t.Errorf("%s: it is taken\n%s", name, diff)
		}
		if found := InPackedDiff(time.Time{}, []byte(diff), "value", func([]byte) bool { return false }); len(found) != 1 || found[0].RuleID != RulePacked && found[0].RuleID != "aws-access-token" {
			t.Errorf("%s: %v", name, found)
		}
	}
	if all, err := unpackAll([]byte(good)); err != nil || len(all) != 2 {
		t.Errorf("%v, %d", err, len(all))
	}
}

func TestScanPackedDiff(t *testing.T) {
	t.Parallel()
	text, binary := []byte("id = "+awsKey+"\n"), append([]byte("id = "+awsKey+"\n"), 0)
	holds := func(content []byte) bool { return bytes.Contains(content, []byte("the-value")) }
	for name, tt := range map[string]struct {
		diff []byte
		want []Finding
	}{
		"no binary":           {gitDiff(t, "a", []byte("x\n"), []byte("y\n")), nil},
		"nothing in it":       {gitDiff(t, "a.dat", []byte("a\x00b"), []byte("y\n")), nil},
		"a text for a binary": {gitDiff(t, "a.dat", []byte("a\x00b"), text), []Finding{{"aws-access-token", 4}}},
		"of a harmless name":  {gitDiff(t, "logo.bin", []byte("a\x00b"), text), []Finding{{"aws-access-token", 4}}},
		"a binary":            {gitDiff(t, "a.dat", []byte("x\n"), binary), []Finding{{"aws-access-token", 4}}},
		"the former content":  {gitDiff(t, "a.dat", binary, []byte("x\n")), []Finding{{"aws-access-token", 7}}},
		"a value":             {gitDiff(t, "logo.png", []byte("a\x00b"), []byte("\x00the-value")), []Finding{{"value", 4}}},
		"behind another": {
			append(gitDiff(t, "a.dat", []byte("a\x00b"), []byte("y\n")), gitDiff(t, "b.dat", []byte("a\x00b"), text)...), []Finding{{"aws-access-token", 13}},
		},
	} {
		if d := cmp.Diff(tt.want, InPackedDiff(time.Time{}, tt.diff, "value", holds)); d != "" {
			t.Errorf("%s (-want +got):\n%s\n%s", name, d, tt.diff)
		}
	}
}

// A diff of a MiB that has as much packed as it can costs no more than the bounds allow.
func TestWorstPackedDiff(t *testing.T) {
	one := gitDiff(t, "a.dat", []byte("a\x00b"), make([]byte, MaxPackedBytes))
	diff := bytes.Repeat(one, 1<<20/len(one))
	unpacked := 0
	worst.Within(t, "zeros", worst.Cost{Stack: worst.Race * 4 << 20, Heap: worst.Race * 64 << 20, Time: 5 * time.Second}, func() {
		for p, err := range Unpack(diff) {
			if err != nil {
				break
			}
			unpacked += len(p.Content)
		}
	})
	if unpacked > MaxPackedTotal || unpacked < MaxPackedTotal-MaxPackedBytes {
		t.Errorf("%d bytes were unpacked", unpacked)
	}
	digits := "GIT binary patch\nliteral 262144\n" + strings.Repeat("z"+strings.Repeat("0", 65)+"\n", 1<<20/67) + "\n"
	worst.Within(t, "no stream", worst.Cost{Stack: worst.Race * 4 << 20, Heap: worst.Race * 16 << 20, Time: 5 * time.Second}, func() {
		if _, err := unpackAll([]byte(digits)); err == nil {
			t.Error("it is taken")
		}
	})
}

func FuzzUnpack(f *testing.F) {
	f.Add([]byte("diff --git a/a b/a\nindex 0..1\nGIT binary patch\nliteral 3\nKcmZQzVqjxn00jU52LJ#7\n\n"))
	f.Add([]byte("literal 0\nHcmV?d00001\n\n"))
	f.Add([]byte("delta 3\nx\n"))
	f.Fuzz(func(t *testing.T, diff []byte) {
		total := 0
		for p, err := range Unpack(diff) {
			if err != nil {
				continue
			}
			if total += len(p.Content); len(p.Content) > MaxPackedBytes || total > MaxPackedTotal || p.Line < 1 || p.Line > bytes.Count(diff, []byte("\n")) {
				t.Errorf("%d bytes of %d at line %d", len(p.Content), total, p.Line)
			}
		}
	})
}
