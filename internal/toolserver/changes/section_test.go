// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tree is the files of a folder by their paths.
type tree map[string]side

func (t tree) write(tb testing.TB, dir string) {
	tb.Helper()
	for path, f := range t {
		at := filepath.Join(dir, path)
		mode := fs.FileMode(0o644)
		if f.executable {
			mode = 0o755
		}
		must(tb, os.MkdirAll(filepath.Dir(at), 0o755))
		must(tb, os.WriteFile(at, f.content, mode))
	}
}

func readTree(tb testing.TB, dir string) tree {
	tb.Helper()
	t := tree{}
	must(tb, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		must(tb, err)
		info, err := e.Info()
		must(tb, err)
		rel, err := filepath.Rel(dir, path)
		must(tb, err)
		t[rel] = side{content, info.Mode()&0o100 != 0}
		return nil
	}))
	return t
}

// diffTo is the diff of two trees.
func (t tree) diffTo(now tree) []byte {
	var b bytes.Buffer
	all := tree{}
	maps.Copy(all, t)
	maps.Copy(all, now)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		var before, after *side
		if f, ok := t[path]; ok {
			before = &f
		}
		if f, ok := now[path]; ok {
			after = &f
		}
		if before != nil && after != nil && before.executable == after.executable && bytes.Equal(before.content, after.content) {
			continue
		}
		b.Write(writeSection(path, before, after))
	}
	return b.Bytes()
}

// gitApply returns the result of git in a folder that has the tree.
func (t tree) gitApply(tb testing.TB, diff []byte) tree {
	tb.Helper()
	if len(diff) == 0 {
		return t // git wants something to apply.
	}
	dir := tb.TempDir()
	t.write(tb, dir)
	cmd := exec.CommandContext(tb.Context(), "git", "apply", "-p1", "--whitespace=nowarn", "-")
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(diff)
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("git apply: %v\n%s\n%.3000s", err, out, diff)
	}
	return readTree(tb, dir)
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// same fails the test if two trees differ.
func same(tb testing.TB, want, got tree, diff []byte) {
	tb.Helper()
	for _, path := range slices.Sorted(maps.Keys(want)) {
		f, ok := got[path]
		if !ok || f.executable != want[path].executable || !bytes.Equal(f.content, want[path].content) {
			tb.Errorf("%q is %t %t %.60q, want %t %.60q\n%.3000s", path, ok, f.executable, f.content, want[path].executable, want[path].content, diff)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[path]; !ok {
			tb.Errorf("there is %q\n%.3000s", path, diff)
		}
	}
}

func text(s string) side { return side{content: []byte(s)} }

func numbered(n int, change map[int]string) string {
	var b strings.Builder
	for i := range n {
		line, ok := change[i]
		if !ok {
			line = fmt.Sprintf("line %d\n", i)
		}
		b.WriteString(line)
	}
	return b.String()
}

// git turns the given files into those of the workspace.
func TestGitAppliesTheDiff(t *testing.T) {
	t.Parallel()
	program := side{content: []byte("#!/bin/sh\n"), executable: true}
	binary := side{content: []byte("\x00\x01\x02binary\xff\xfe")}
	for name, tt := range map[string]struct{ given, now tree }{
		"a new file":                {nil, tree{"a.txt": text("one\ntwo\n")}},
		"a new folder":              {nil, tree{"deep/er/a": text("x\n")}},
		"a new empty file":          {nil, tree{"empty": text("")}},
		"a new program":             {nil, tree{"run": program}},
		"a changed line":            {tree{"a": text(numbered(40, nil))}, tree{"a": text(numbered(40, map[int]string{20: "other\n"}))}},
		"the first and last line":   {tree{"a": text(numbered(40, nil))}, tree{"a": text(numbered(40, map[int]string{0: "first\n", 39: "last\n"}))}},
		"lines six apart":           {tree{"a": text(numbered(40, nil))}, tree{"a": text(numbered(40, map[int]string{10: "x\n", 17: "y\n"}))}},
		"lines seven apart":         {tree{"a": text(numbered(40, nil))}, tree{"a": text(numbered(40, map[int]string{10: "x\n", 18: "y\n"}))}},
		"inserted lines":            {tree{"a": text("a\nb\n")}, tree{"a": text("a\nnew\nb\n")}},
		"lines put in front":        {tree{"a": text("a\nb\n")}, tree{"a": text("new\na\nb\n")}},
		"deleted lines":             {tree{"a": text("a\nb\nc\n")}, tree{"a": text("a\nc\n")}},
		"all lines deleted":         {tree{"a": text("a\nb\n")}, tree{"a": text("")}},
		"lines in an empty file":    {tree{"a": text("")}, tree{"a": text("a\nb\n")}},
		"a deleted file":            {tree{"a": text("a\nb\n")}, nil},
		"a deleted empty file":      {tree{"a": text("")}, nil},
		"a deleted program":         {tree{"a": program}, nil},
		"a deleted binary":          {tree{"a": binary}, nil},
		"a long deleted text":       {tree{"a": text(numbered(20000, nil))}, nil},
		"a line break lost":         {tree{"a": text("a\nb\n")}, tree{"a": text("a\nb")}},
		"a line break gained":       {tree{"a": text("a\nb")}, tree{"a": text("a\nb\n")}},
		"no line break, other line": {tree{"a": text("a\nb")}, tree{"a": text("c\nb")}},
		"CRLF":                      {tree{"a": text("a\r\nb\r\nc\r\n")}, tree{"a": text("a\r\nB\r\nc\r\n")}},
		"from CRLF":                 {tree{"a": text("a\r\nb\r\n")}, tree{"a": text("a\nb\n")}},
		"spaces at the end":         {tree{"a": text("a  \nb\t\n")}, tree{"a": text("a  \nc \t \n")}},
		"made a program":            {tree{"a": text("x\n")}, tree{"a": {content: []byte("x\n"), executable: true}}},
		"made a program, changed":   {tree{"a": text("x\n")}, tree{"a": program}},
		"no program any more":       {tree{"a": program}, tree{"a": text("x\n")}},
		"a new binary":              {nil, tree{"a.bin": binary}},
		"a changed binary":          {tree{"a": binary}, tree{"a": {content: bytes.Repeat([]byte("\x00xyz"), 5000)}}},
		"text made binary":          {tree{"a": text("x\n")}, tree{"a": binary}},
		"binary made text":          {tree{"a": binary}, tree{"a": text("x\n")}},
		"binary made empty":         {tree{"a": binary}, tree{"a": text("")}},
		"no UTF-8":                  {tree{"a": text("caf\xe9\n")}, tree{"a": text("caf\xe9!\n")}},
		"a file made a folder":      {tree{"a": text("x\n")}, tree{"a/b": text("x\n")}},
		"a folder made a file":      {tree{"a/b": text("x\n"), "a/c": text("y\n")}, tree{"a": text("z\n")}},
		"lines like those of a diff": {
			tree{"a": text("-- a/x\n++ b/x\n@@ -1 +1 @@\n")}, tree{"a": text("-- a/y\n++ b/x\n@@ -1 +1 @@\ndiff --git a/x b/x\n")},
		},
		"names": {
			tree{"with space": text("x\n"), "q\"uote": text("x\n"), "漢字": text("x\n")},
			tree{
				"with space": text("y\n"), "q\"uote": text("y\n"), "漢字": text("y\n"), " front": text("x\n"), "end ": text("x\n"), "two  spaces": text(""),
				"tab\there": text("x\n"), "line\nbreak": text("x\n"), "back\\slash": text("x\n"), "bad\xff": text("x\n"), "bidi\u202e": text(""), "\x01\x7f": text("x\n"),
				"a b/b b": text(""), "b/a b/a": text(""), "a/b/c": text(""), "-dash": text(""), "#x": text("x\n"), "x\u00a0y": text("x\n"),
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			diff := tt.given.diffTo(tt.now)
			same(t, tt.now, tt.given.gitApply(t, diff), diff)
		})
	}
}

// The diff of any two trees turns the one into the other.
func TestGitAppliesTheDiffOfAnyTrees(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		given := randomTree(rng)
		now := given.changed(rng)
		diff := given.diffTo(now)
		same(t, now, given.gitApply(t, diff), diff)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
		if again := given.diffTo(now); !bytes.Equal(diff, again) {
			t.Fatalf("seed %d gives another diff the second time", seed)
		}
	}
}

func randomTree(rng *rand.Rand) tree {
	t := tree{}
	for range rng.IntN(12) {
		t.put(randomPath(rng), side{randomContent(rng), rng.IntN(4) == 0})
	}
	return t
}

// put adds a file if no other one is in its way.
func (t tree) put(path string, f side) {
	for other := range t {
		if within(other, path) || within(path, other) {
			return
		}
	}
	t[path] = f
}

func randomPath(rng *rand.Rand) string {
	parts := []string{"a", "b", "src", "with space", "é", "q\"", "tab\t", "nl\n", "\\", "b/a", "\xfe", "x.txt"}
	var path []string
	for range 1 + rng.IntN(3) {
		path = append(path, parts[rng.IntN(len(parts))])
	}
	return strings.Join(path, "/")
}

func randomContent(rng *rand.Rand) []byte {
	var b bytes.Buffer
	if rng.IntN(6) == 0 {
		for range rng.IntN(3000) {
			b.WriteByte(byte(rng.IntN(256) * rng.IntN(2)))
		}
		return b.Bytes()
	}
	end := []string{"\n", "\n", "\r\n"}[rng.IntN(3)]
	for range rng.IntN(200) {
		fmt.Fprintf(&b, "%d%s", rng.IntN(10), end)
	}
	if rng.IntN(3) == 0 {
		b.WriteString("no end")
	}
	return b.Bytes()
}

func (t tree) changed(rng *rand.Rand) tree {
	now := tree{}
	for _, path := range slices.Sorted(maps.Keys(t)) {
		f := t[path]
		switch rng.IntN(5) {
		case 0: // It goes.
		case 1:
			f.executable = !f.executable
			now[path] = f
		case 2:
			now[path] = side{randomContent(rng), f.executable}
		case 3:
			lines := splitLines(string(f.content))
			for range 1 + rng.IntN(4) {
				at := rng.IntN(len(lines) + 1)
				if rng.IntN(2) == 0 {
					lines = slices.Insert(lines, at, "new\n")
				} else if at < len(lines) {
					lines = slices.Delete(lines, at, at+1)
				}
			}
			now[path] = side{[]byte(strings.Join(lines, "")), f.executable}
		default:
			now[path] = f
		}
	}
	for path, f := range randomTree(rng) {
		now.put(path, f)
	}
	return now
}
