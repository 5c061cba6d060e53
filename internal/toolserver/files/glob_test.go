// SPDX-License-Identifier: Apache-2.0

//go:build linux

package files

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/plaintext"
	"motorcortex.dev/motorcortex/internal/toolserver/tool"
	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
	"motorcortex.dev/motorcortex/test/traps"
)

func TestGlob(t *testing.T) {
	s := newSandbox(t)
	traps.Fill(t, s.workspace)
	began := time.Unix(1_700_000_000, 0)
	// The later a file comes, the later it was changed.
	for i, name := range []string{
		"README.md", "src/main.go", "src/app/app.go", "src/app/app_test.go", "src/app/deep/er/x.go", "src/web/index.ts", "src/web/view.tsx",
		".git/config", "src/.git/HEAD", ".motor/output/c.txt", ".hidden/x.go", "odd [1].txt", "two\nlines.txt", "\x1b[31mred.txt", "latin\xe9.txt", "{a,b}.txt",
	} {
		s.write(name, "x")
		at := began.Add(time.Duration(i) * time.Minute)
		if err := os.Chtimes(filepath.Join(s.workspace, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../..", s.workspace+"/src/app/round"); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		args   toolapi.GlobArgs
		code   string
		output string
	}{
		"a folder":              {args: toolapi.GlobArgs{Pattern: "src/*.go"}, output: "src/main.go\n"},
		"any folder":            {args: toolapi.GlobArgs{Pattern: "src/**/*.go"}, output: "src/app/deep/er/x.go\nsrc/app/app_test.go\nsrc/app/app.go\nsrc/main.go\n"},
		"hidden too":            {args: toolapi.GlobArgs{Pattern: "**/x.go"}, output: ".hidden/x.go\nsrc/app/deep/er/x.go\n"},
		"either":                {args: toolapi.GlobArgs{Pattern: "**/*.{ts,tsx}"}, output: "src/web/view.tsx\nsrc/web/index.ts\n"},
		"either, with folders":  {args: toolapi.GlobArgs{Pattern: "src/{app,web/*}.{go,ts}"}, output: "src/web/index.ts\n"},
		"one character":         {args: toolapi.GlobArgs{Pattern: "src/web/????.tsx"}, output: "src/web/view.tsx\n"},
		"a class":               {args: toolapi.GlobArgs{Pattern: "[A-Q]EADME.m[!a-c]"}, output: "[nothing matches]\n"},
		"another class":         {args: toolapi.GlobArgs{Pattern: "[A-Z]EADME.m[!a-c]"}, output: "README.md\n"},
		"a name":                {args: toolapi.GlobArgs{Pattern: "src/main.go"}, output: "src/main.go\n"},
		"a name with brackets":  {args: toolapi.GlobArgs{Pattern: `odd \[1\].*`}, output: "odd [1].txt\n"},
		"a name with braces":    {args: toolapi.GlobArgs{Pattern: `\{a,b\}.txt`}, output: "{a,b}.txt\n"},
		"in a folder":           {args: toolapi.GlobArgs{Pattern: "**/*.go", Path: "src/app"}, output: "src/app/deep/er/x.go\nsrc/app/app_test.go\nsrc/app/app.go\n"},
		"in a folder by a link": {args: toolapi.GlobArgs{Pattern: "*", Path: "good"}, output: "good/file\ngood/sub/\n"},
		"absolute, inside":      {args: toolapi.GlobArgs{Pattern: s.workspace + "/src/*.go", Path: "src/web"}, output: "src/main.go\n"},
		"folders only":          {args: toolapi.GlobArgs{Pattern: "src/app/*/"}, output: "src/app/deep/\n"},
		"odd spelling":          {args: toolapi.GlobArgs{Pattern: "./src//./main.*"}, output: "src/main.go\n"},
		"odd names":             {args: toolapi.GlobArgs{Pattern: "[^{o]*.txt"}, output: "\"latin\\xe9.txt\"\n\"\\x1b[31mred.txt\"\n\"two\\nlines.txt\"\n"},
		"git, named":            {args: toolapi.GlobArgs{Pattern: ".git/*"}, output: ".git/config\n"},
		"git below, named":      {args: toolapi.GlobArgs{Pattern: "**/.git/*"}, output: "src/.git/HEAD\n.git/config\n"},
		"git, by path":          {args: toolapi.GlobArgs{Pattern: "*", Path: ".git"}, output: ".git/config\n"},
		"not the server's":      {args: toolapi.GlobArgs{Pattern: "**/c.txt"}, output: "[nothing matches]\n"},
		"the server's, named":   {args: toolapi.GlobArgs{Pattern: ".motor/**/*.txt"}, output: ".motor/output/c.txt\n"},
		"nothing there":         {args: toolapi.GlobArgs{Pattern: "no/such/*"}, output: "[nothing matches]\n"},
		"no such folder":        {args: toolapi.GlobArgs{Pattern: "*", Path: "no"}, code: toolapi.CodeNotFound},
		"a file":                {args: toolapi.GlobArgs{Pattern: "*", Path: "README.md"}, code: toolapi.CodeNotDirectory},
		"a pipe":                {args: toolapi.GlobArgs{Pattern: "*", Path: "pipe"}, code: toolapi.CodeNotDirectory},
		"links are not entered": {args: toolapi.GlobArgs{Pattern: "*/secret"}, output: "[nothing matches]\n"},
		"the way up by a link":  {args: toolapi.GlobArgs{Pattern: "up/*"}, output: "[nothing matches]\n"},
		"the root by a link":    {args: toolapi.GlobArgs{Pattern: "rootlink/etc/*"}, output: "[nothing matches]\n"},
		"into a link out":       {args: toolapi.GlobArgs{Pattern: "*", Path: "up"}, code: toolapi.CodeOutsideWorkspace},
		"the parent":            {args: toolapi.GlobArgs{Pattern: "../*"}, code: toolapi.CodeOutsideWorkspace},
		"the parent, later":     {args: toolapi.GlobArgs{Pattern: "src/*/../../../*"}, code: toolapi.CodeOutsideWorkspace},
		"the parent, in braces": {args: toolapi.GlobArgs{Pattern: "{src,..}/*"}, code: toolapi.CodeOutsideWorkspace},
		"the parent, quoted":    {args: toolapi.GlobArgs{Pattern: `src/\../*`}, code: toolapi.CodeOutsideWorkspace},
		"absolute":              {args: toolapi.GlobArgs{Pattern: "/etc/*"}, code: toolapi.CodeOutsideWorkspace},
		"proc":                  {args: toolapi.GlobArgs{Pattern: "*", Path: "/proc/self"}, code: toolapi.CodeOutsideWorkspace},
		"NUL":                   {args: toolapi.GlobArgs{Pattern: "a\x00b"}, code: toolapi.CodeInvalidArguments},
		"no pattern":            {args: toolapi.GlobArgs{}, code: toolapi.CodeInvalidArguments},
		"long":                  {args: toolapi.GlobArgs{Pattern: strings.Repeat("x", maxPattern+1)}, code: toolapi.CodeInvalidArguments},
		"not closed":            {args: toolapi.GlobArgs{Pattern: "src/[a-z"}, code: toolapi.CodeInvalidArguments, output: "The pattern src/[a-z is not complete"},
		"braces not closed":     {args: toolapi.GlobArgs{Pattern: "{a,b"}, code: toolapi.CodeInvalidArguments},
		"many alternatives":     {args: toolapi.GlobArgs{Pattern: strings.Repeat("{a,b}", 20)}, code: toolapi.CodeInvalidArguments, output: "more than 256 patterns"},
		"many, inside":          {args: toolapi.GlobArgs{Pattern: "{" + strings.Repeat("{a,b}", 20) + ",c}"}, code: toolapi.CodeInvalidArguments, output: "more than 256 patterns"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := s.run(toolapi.ToolGlob, test.args)
			if r.ErrorCode != test.code || r.OK != (test.code == "") || r.OK && r.Output != test.output || !strings.Contains(r.Output, test.output) {
				t.Errorf("%+v\nwant %q %q", r, test.code, test.output)
			}
			if strings.Contains(r.Output, "\x1b") {
				t.Errorf("an escape sequence: %q", r.Output)
			}
		})
	}
}

func TestAlternatives(t *testing.T) {
	for pattern, want := range map[string]int{
		"a": 1, "{a,b}": 2, "{a,b}{c,d,e}": 6, "{{a,b}{c,d},e}": 5, "{a}": 1, "{,}": 2, `\{a,b\}`: 1, "[{,}]": 1, "{[,],b}": 2, `{\,,b}`: 2,
		strings.Repeat("{a,b}", 8): 256, strings.Repeat("{a,b}", 9): maxAlternatives + 1, "{" + strings.Repeat("{a,b}", 30) + "}": maxAlternatives + 1,
		`[^\]{]{b,c}`: 2, `[\]{]{b,c}`: 2,
	} {
		if got := alternatives(pattern); got != want {
			t.Errorf("%s: %d, want %d", pattern, got, want)
		}
	}
}

func TestGlobIsBounded(t *testing.T) {
	s := newSandbox(t)
	for i := range maxGlobbed + 5 {
		s.write(fmt.Sprintf("many/%05d", i), "")
	}
	r := s.run(toolapi.ToolGlob, toolapi.GlobArgs{Pattern: "many/*"})
	if !r.OK || strings.Count(r.Output, "many/") != maxGlobbed || !strings.HasSuffix(r.Output, "[only the 1000 that changed last of 1005 are listed; make the pattern narrower]\n") {
		t.Errorf("%d: %s", strings.Count(r.Output, "many/"), plaintext.Last(r.Output, 300))
	}
	call := newCallOf(t, "", toolapi.ToolGlob, toolapi.GlobArgs{Pattern: "many/*"})
	call.MaxOutputBytes = 500
	if r := s.runCall(call); !r.OK || len(r.Output) > 500 || !strings.Contains(r.Output, "of 1005 are listed") {
		t.Errorf("%d: %s", len(r.Output), r.Output)
	}
	for i := range workspace.MaxFolderEntries + 1 {
		s.write(fmt.Sprintf("huge/%05d", i), "")
	}
	if r := s.run(toolapi.ToolGlob, toolapi.GlobArgs{Pattern: "huge/x*"}); !strings.HasPrefix(r.Output, "[nothing matches]\n[not everything was looked at") {
		t.Errorf("%+v", r)
	}
	g, err := fileTools{s.opened}.newGlobber(toolapi.GlobArgs{Pattern: "**"})
	if err != nil {
		t.Fatal(err)
	}
	g.walked = maxGlobWalked - 10
	if err := g.folder(testContext(t), ".", ""); err == nil || len(g.found) != 10 || !strings.Contains(globbedPaths(g, err == nil), "not everything") {
		t.Errorf("%v, %d found", err, len(g.found))
	}
	ended, cancel := context.WithCancelCause(testContext(t))
	cancel(tool.ErrCancelled)
	args, err := json.Marshal(toolapi.GlobArgs{Pattern: "**"})
	if err != nil {
		t.Fatal(err)
	}
	if r := (fileTools{s.opened}).globTool(ended, tool.Job{Args: args, Limit: 1000}); r.ErrorCode != toolapi.CodeCancelled {
		t.Errorf("%+v", r)
	}
}

// FuzzGlob: for every pattern, nothing from outside of the workspace is found, and every found path exists.
func FuzzGlob(f *testing.F) {
	for _, seed := range []string{"**", "*", "../*", "/etc/*", "{a,b}/**", "up/*", "rootlink/etc/*", "[a-z]*", "[", "{..,a}/*", `\..`, "**/../**", "a\x00", "good/*/", "./*", "**/**/**",
		`{[,],b}`, "", "{{{{a}}}}", "dir/**/file", "abs", "\xff*", `up\/*`, "*/{..}/*"} {
		f.Add(seed, ".")
		f.Add(seed, "good")
	}
	w, _ := openTrapped(f)
	f.Fuzz(func(t *testing.T, pattern, path string) {
		g, err := fileTools{w}.newGlobber(toolapi.GlobArgs{Pattern: pattern, Path: path})
		if err != nil {
			if r := w.Failure("search", path, err); r.ErrorCode == toolapi.CodeInternal {
				t.Fatalf("%q in %q: %v has no code of its own", pattern, path, err)
			}
			return
		}
		if err := g.folder(context.Background(), g.base, ""); err != nil {
			t.Fatal(err)
		}
		for _, found := range g.found {
			local := strings.TrimSuffix(found.path, "/")
			if !filepath.IsLocal(local) || strings.Contains(local, "secret") {
				t.Fatalf("%q in %q gives %q", pattern, path, found.path)
			}
			if _, err := w.Root.Lstat(local); err != nil {
				t.Fatalf("%q in %q gives %q: %v", pattern, path, found.path, err)
			}
		}
	})
}

// globbedPaths is the whole output of a search.
func globbedPaths(g *globber, all bool) string {
	paths, notes := g.result(1000, all)
	return paths + notes
}
