// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const manifest = "---\nname: reports\ndescription: Says what it is for.\n---\nBody.\n"

// skillOf is the smallest skill, and empty files of these paths.
func skillOf(paths ...string) []File {
	files := []File{{Path: ManifestName, Content: []byte(manifest)}}
	for _, p := range paths {
		files = append(files, File{Path: p})
	}
	return files
}

type fileRefusal struct {
	name  string
	skill string
	files []File
	large bool
}

// fileRefusals are files that are no skill.
func fileRefusals() []fileRefusal {
	var cases []fileRefusal
	for _, p := range []string{
		"", ".", "..", "/etc/passwd", "../reports/SKILL.md", "scripts/../../x", "scripts/./x", "scripts//x", "scripts/", "scripts/...", `scripts\x.py`, "./SKILL.md",
		"scripts/ x", "scripts/x ", "scripts /x", "scripts/x\ty", "scripts/x\ny", "scripts/x\x00", "scripts/\x1b[31m", "scripts/\xff", "scripts/gpj\u202e.py", "scripts/a\u200bb",
		"scripts/a\u00a0b", "scripts/a\u3164b", "scripts/a\u2800b", "scripts/a\ufe0fb", "scripts/a\U000e0041", "scripts/" + strings.Repeat("x", 101),
		"scripts/" + strings.Repeat("y/", 124) + "x", "skill.md", "Skill.MD", "assets/SKILL.md/..",
	} {
		cases = append(cases, fileRefusal{name: fmt.Sprintf("path %+.40q", p), files: skillOf(p)})
	}
	many := make([]string, MaxFiles)
	for i := range many {
		many[i] = fmt.Sprintf("assets/%d", i)
	}
	var large []File
	for i := range 11 {
		large = append(large, File{Path: fmt.Sprintf("assets/%d", i), Content: make([]byte, MaxFileBytes)})
	}
	big := func(n int) []byte { return append([]byte(manifest), make([]byte, n-len(manifest))...) }
	return append(cases,
		fileRefusal{name: "none"},
		fileRefusal{name: "no SKILL.md", files: []File{{Path: "scripts/x"}}},
		fileRefusal{name: "SKILL.md in a folder", files: []File{{Path: "assets/SKILL.md", Content: []byte(manifest)}}},
		fileRefusal{name: "SKILL.md is invalid", files: []File{{Path: ManifestName, Content: []byte("---\nname: Reports\n---\n")}}},
		fileRefusal{name: "another name", skill: "report", files: skillOf()},
		fileRefusal{name: "another case", skill: "Reports", files: skillOf()},
		fileRefusal{name: "twice", files: skillOf("scripts/x", "scripts/x")},
		fileRefusal{name: "two of SKILL.md", files: append(skillOf(), skillOf()...)},
		fileRefusal{name: "case ignored", files: skillOf("scripts/Run.py", "scripts/run.py")},
		fileRefusal{name: "case of a folder ignored", files: skillOf("scripts/A/x", "scripts/a/x")},
		fileRefusal{name: "case of other scripts ignored", files: skillOf("assets/Навык", "assets/навык")},
		fileRefusal{name: "accent written in two ways", files: skillOf("assets/caf\u00e9", "assets/cafe\u0301")},
		fileRefusal{name: "sharp s", files: skillOf("assets/straße", "assets/STRASSE")},
		fileRefusal{name: "file and folder", files: skillOf("assets/x", "assets/x/y/z")},
		fileRefusal{name: "file and folder in other case", files: skillOf("assets/X/y", "assets/x")},
		fileRefusal{name: "SKILL.md too large", files: []File{{Path: ManifestName, Content: big(MaxManifestBytes + 1)}}, large: true},
		fileRefusal{name: "file too large", files: append(skillOf(), File{Path: "assets/x", Content: make([]byte, MaxFileBytes+1)}), large: true},
		fileRefusal{name: "SKILL.md larger than a file", files: []File{{Path: ManifestName, Content: big(MaxFileBytes + 1)}}, large: true},
		fileRefusal{name: "files too large", files: append(skillOf(), large...), large: true},
		fileRefusal{name: "too many files", files: skillOf(many...), large: true},
	)
}

func TestCheck(t *testing.T) {
	t.Parallel()
	text := func(p, content string, executable bool) File {
		return File{Path: p, Content: []byte(content), Executable: executable}
	}
	given := []File{
		text("scripts/run", "#!/bin/sh\n", false), text("scripts/lib.py", "x = 1\n", false), text("assets/tool", "\x7fELF", true), text("assets/shell", "#!/bin/sh\n", false),
		text("references/a b.md", "", false), text("references/ü/技.md", "", false), text(ManifestName, manifest, false), text("LICENSE.txt", "", false), text("scripts/.env.example", "", false),
	}
	want := []string{
		"LICENSE.txt false", "SKILL.md false", "assets/shell false", "assets/tool true", "references/a b.md false", "references/ü/技.md false", "scripts/.env.example false",
		"scripts/lib.py false", "scripts/run true",
	}
	before := slices.Clone(given)
	m, files, err := Check("reports", given)
	if err != nil || m.Name != "reports" || len(m.Warnings) != 0 {
		t.Fatalf("%#v, %v", m, err)
	}
	var got []string
	for _, f := range files {
		got = append(got, fmt.Sprintf("%s %t", f.Path, f.Executable))
		if i := slices.IndexFunc(given, func(g File) bool { return g.Path == f.Path }); len(f.Content) > 0 && &f.Content[0] != &given[i].Content[0] {
			t.Errorf("%s was copied", f.Path)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if !reflect.DeepEqual(given, before) {
		t.Error("what was given has changed")
	}
	if _, again, err := Check("reports", files); err != nil || !reflect.DeepEqual(again, files) {
		t.Errorf("the second time: %v, %v", again, err)
	}
}

// TestCheckTakesAnyFile: the standard lets a skill have files wherever its author put them, also a Python package.
func TestCheckTakesAnyFile(t *testing.T) {
	t.Parallel()
	paths := []string{
		"forms.md", "reference.md", "reference/api.md", "core/__init__.py", "examples/a.py", "templates/x.html", "showcase.pdf", "policy.json", "Scripts/x.py", "CHANGELOG.md",
		"script/x.py", ".mcp.json",
	}
	files := skillOf(paths...)
	// A published skill has 5 MB, most of it fonts.
	for i := range 88 {
		files = append(files, File{Path: fmt.Sprintf("canvas-fonts/%d.ttf", i), Content: make([]byte, 64<<10)})
	}
	m, kept, err := Check("reports", files)
	if err != nil || len(kept) != len(files) || len(m.LeftOut) != 0 {
		t.Fatalf("%d of %d files, without %s, %v", len(kept), len(files), m.LeftOut, err)
	}
}

// TestCheckLeavesOut: files that tools leave behind are omitted, whatever their path is, and every such file is named or counted.
func TestCheckLeavesOut(t *testing.T) {
	t.Parallel()
	paths := []string{
		"scripts/run", ".git/../x", "scripts/node_modules/\x00", "scripts/node_modules/x/index.js", "references/.git/config", "assets/.cache", "scripts/__pycache__/x.pyc",
		"scripts/x.PYC", "references/run.log", "assets/.DS_Store", ".motor/state", "node_modules/x", "assets/.local/x",
	}
	for i := range 1000 {
		paths = append(paths, fmt.Sprintf("node_modules/%d", i))
	}
	files := skillOf(paths...)
	files = append(files, File{Path: "node_modules/core", Content: make([]byte, MaxTotalBytes+1)})
	m, kept, err := Check("", files)
	if err != nil || len(kept) != 2 || kept[0].Path != ManifestName || kept[1].Path != "scripts/run" {
		t.Fatalf("%v, %v", kept, err)
	}
	if len(m.LeftOut) != maxWarnings || m.LeftOut[0] != ".git/../x" || m.LeftOut[maxWarnings-1] != "982 more" {
		t.Errorf("%d are named: %q", len(m.LeftOut), m.LeftOut)
	}
	for _, p := range m.LeftOut {
		checkMessage(t, p)
	}
}

// TestCheckNamesAllProblems: an author who fixes a skill sees all problems at once.
func TestCheckNamesAllProblems(t *testing.T) {
	t.Parallel()
	files := skillOf("../x", "scripts/A", "scripts/a", "skill.md")
	files[0].Content = []byte("---\nname: Reports\ndescription:\n---\n")
	files = append(files, File{Path: "assets/big", Content: make([]byte, MaxFileBytes+1)})
	_, _, err := Check("reports", files)
	var problem *Problem
	if !errors.As(err, &problem) || problem.TooLarge {
		t.Fatal(err)
	}
	for _, want := range []string{
		"../x: the path has a part", "skill.md: its name is not SKILL.md", "scripts/a: it is the same file as scripts/A", "assets/big: it has 1048577 bytes",
		`line 2: the name "Reports" has "R" in it`, `line 3: "description" is empty`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	var many []string
	for i := range 100 {
		many = append(many, fmt.Sprintf("../%d", i))
	}
	if _, _, err := Check("reports", skillOf(many...)); err == nil || strings.Count(err.Error(), "the path has a part") != maxProblems || !strings.HasSuffix(err.Error(), "; and 92 more problems") {
		t.Errorf("of a hundred: %v", err)
	}
}

// TestCheckIgnoresOrder: the files, the manifest and the problem are the same in whatever order the files are given.
func TestCheckIgnoresOrder(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	cases := fileRefusals()
	cases = append(cases, fileRefusal{name: "many", files: skillOf("x", "y", "assets/b", "assets/a", "scripts/A", "scripts/a", "scripts/a/b")})
	for _, c := range cases {
		m, files, err := Check(c.skill, c.files)
		for range 3 {
			shuffled := slices.Clone(c.files)
			random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
			m2, files2, err2 := Check(c.skill, shuffled)
			if !reflect.DeepEqual(m, m2) || fmt.Sprint(err) != fmt.Sprint(err2) || ContentHash(files) != ContentHash(files2) {
				t.Errorf("%s: %v, %v, in another order %v, %v", c.name, m, err, m2, err2)
			}
		}
	}
}

func TestLimitsAreInclusive(t *testing.T) {
	t.Parallel()
	files := []File{{Path: ManifestName, Content: append([]byte(manifest), bytes.Repeat([]byte("x"), MaxManifestBytes-len(manifest))...)}}
	for i := range 9 {
		files = append(files, File{Path: fmt.Sprintf("assets/%d", i), Content: make([]byte, MaxFileBytes)})
	}
	files = append(files, File{Path: "assets/rest", Content: make([]byte, MaxFileBytes-MaxManifestBytes)})
	for i := len(files); i < MaxFiles; i++ {
		files = append(files, File{Path: fmt.Sprintf("references/%d", i)})
	}
	files[len(files)-1].Path = "scripts/" + strings.Repeat("x", 100) + "/" + strings.Repeat("y", 100) + "/" + strings.Repeat("z", 46)
	if _, _, err := Check("reports", files); err != nil {
		t.Error(err)
	}
	files[len(files)-1].Path += "z"
	if _, _, err := Check("reports", files); err == nil {
		t.Error("a path of 257 bytes is accepted")
	}
}

func TestLeftBehind(t *testing.T) {
	t.Parallel()
	for p, want := range map[string]bool{
		"SKILL.md": false, "scripts/catalog": false, "scripts/log": false, "scripts/../x": false, "assets/git": false, "assets/.hidden": false, "": false,
		"assets/x.log": true, "assets/x.LOG/y": true, "assets/Node_Modules/x": true, "scripts/x/.git/HEAD": true, "scripts/a.pyc": true, "assets/.motor": true,
		"references/.cache/x": true, "references/.local/x": true, "assets/.ds_store": true, "scripts/__pycache__/x": true,
	} {
		if LeftBehind(p) != want {
			t.Errorf("LeftBehind(%q) = %t", p, !want)
		}
	}
}

// FuzzCheckPath: whatever a path is, what is accepted can be written below a folder on any system, and nothing that cannot be shown
// gets into a message.
func FuzzCheckPath(f *testing.F) {
	for _, c := range fileRefusals() {
		for _, file := range c.files {
			f.Add(file.Path)
		}
	}
	f.Add("references/a b/ü.md")
	f.Fuzz(func(t *testing.T, p string) {
		m, files, err := Check("", skillOf(p))
		var problem *Problem
		switch {
		case errors.As(err, &problem):
			checkMessage(t, problem.Error())
		case err != nil:
			t.Fatal(err)
		case len(files) == 1 && len(m.LeftOut) == 1:
			checkMessage(t, m.LeftOut[0])
		case ValidPath(p) != nil || LeftBehind(p) || len(p) > MaxPath || strings.ContainsAny(p, "\n\x00\\") || strings.Contains("/"+p+"/", "/../") || p[0] == '/':
			t.Errorf("%q is accepted", p)
		}
	})
}

func TestCheckAllNamesEachProblemWithItsLine(t *testing.T) {
	t.Parallel()
	m, kept, problems := CheckAll("weather", []File{
		{Path: ManifestName, Content: []byte("---\nname: A\ndescription: ''\n---\n")}, {Path: "a\x00"}, {Path: "notes.md"}, {Path: "run.log"},
	})
	var got []string
	for _, p := range problems {
		got = append(got, p.Path)
		for _, l := range p.Lines {
			got = append(got, strconv.Itoa(l.Line))
		}
	}
	if want := []string{`"a\x00"`, ManifestName, "2", "3"}; !slices.Equal(got, want) || len(kept) != 2 || len(m.LeftOut) != 1 {
		t.Errorf("got %q, want %q; kept are %d files, left out %q", got, want, len(kept), m.LeftOut)
	}
}
