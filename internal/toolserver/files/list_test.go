// SPDX-License-Identifier: Apache-2.0

//go:build linux

package files

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/test/traps"
)

func TestList(t *testing.T) {
	s := newSandbox(t)
	traps.Fill(t, s.workspace)
	s.write("a\nb", "12345")
	s.write(".motor/output/x.txt", "hidden")
	s.write("many/x", "")
	for i := range maxListed + 10 {
		s.write(fmt.Sprintf("many/%05d", i), "")
	}
	top := strings.Join([]string{
		`"a\nb"  5`, "abs  symbolic link to " + filepath.Dir(s.workspace) + "/secret", "dangling  symbolic link to nowhere", "dir/",
		"good  symbolic link to dir", "loop  symbolic link to loop", "many/", "newout  symbolic link to ../newfile",
		"pipe  not a regular file", "rel  symbolic link to ../secret", "rootlink  symbolic link to /", "socket  not a regular file",
		"topipe  symbolic link to pipe", "up  symbolic link to ..",
	}, "\n") + "\n"
	tests := map[string]struct {
		args   toolapi.ListArgs
		output string
		has    string
	}{
		"workspace":       {args: toolapi.ListArgs{}, output: top},
		"by its path":     {args: toolapi.ListArgs{Path: s.workspace}, output: top},
		"folder":          {args: toolapi.ListArgs{Path: "dir"}, output: "file  7\nsub/\n"},
		"recursive":       {args: toolapi.ListArgs{Path: "dir", Recursive: true}, output: "file  7\nsub/\n"},
		"deep":            {args: toolapi.ListArgs{Recursive: true}, has: "\ndir/\ndir/file  7\ndir/sub/\ngood  "},
		"through a link":  {args: toolapi.ListArgs{Path: "good"}, output: "file  7\nsub/\n"},
		"empty":           {args: toolapi.ListArgs{Path: "dir/sub"}, output: "[the folder is empty]"},
		"too many":        {args: toolapi.ListArgs{Path: "many"}, has: "only the first 1000 entries"},
		"the server's":    {args: toolapi.ListArgs{Path: ".motor/output"}, output: "x.txt  6\n"},
		"too many, below": {args: toolapi.ListArgs{Recursive: true}, has: "[there is more"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := s.run(toolapi.ToolList, test.args)
			if !r.OK || test.output != "" && r.Output != test.output || !strings.Contains(r.Output, test.has) {
				t.Errorf("%+v, want %q%q", r, test.output, test.has)
			}
		})
	}
}
