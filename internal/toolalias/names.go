// SPDX-License-Identifier: Apache-2.0

package toolalias

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// deed is the purpose of another harness's tool.
type deed int

const (
	unknown deed = iota
	editing
	patching
	shell
	python
	javascript
	reading
	writing
	listing
	finding
	searching
	fetching
	searchingWeb
	asking
)

// way is a tool of ours that serves a deed, and how it is called for that.
type way struct{ tool, how string }

// ways are the tools for a deed, the best first.
var ways = map[deed][]way{
	editing: {
		{toolapi.ToolEdit, "use edit with path, oldText and newText"},
		{toolapi.ToolPatch, "use patch with patch, a unified diff"},
		{toolapi.ToolBash, "use bash with command, and change the file with a program"},
	},
	patching: {
		{toolapi.ToolPatch, "use patch with patch"},
		{toolapi.ToolEdit, "use edit with path, oldText and newText"},
		{toolapi.ToolBash, "use bash with command, and change the file with a program"},
	},
	shell: {
		{toolapi.ToolBash, "use bash with command"},
		{toolapi.ToolCode, "use code with language and source"},
	},
	python: {
		{toolapi.ToolCode, `use code with language "python" and source`},
		{toolapi.ToolBash, "use bash with command, python3 in it"},
	},
	javascript: {
		{toolapi.ToolCode, `use code with language "javascript" and source`},
		{toolapi.ToolBash, "use bash with command, node in it"},
	},
	reading: {
		{toolapi.ToolRead, "use read with path"},
		{toolapi.ToolBash, "use bash with command: cat FILE"},
	},
	writing: {
		{toolapi.ToolWrite, "use write with path and content"},
		{toolapi.ToolBash, "use bash with command, and write the file with cat and a here document"},
	},
	listing: {
		{toolapi.ToolList, "use list with path"},
		{toolapi.ToolGlob, "use glob with pattern"},
		{toolapi.ToolBash, "use bash with command: ls FOLDER"},
	},
	finding: {
		{toolapi.ToolGlob, "use glob with pattern"},
		{toolapi.ToolList, "use list with path"},
		{toolapi.ToolBash, "use bash with command: find"},
	},
	searching: {
		{toolapi.ToolGrep, "use grep with pattern"},
		{toolapi.ToolBash, "use bash with command: grep -rn"},
	},
	fetching:     {{toolapi.ToolFetch, "use fetch with url"}},
	searchingWeb: {{toolapi.ToolSearchWeb, "use search_web with query"}},
	asking:       {{toolapi.ToolAskUser, "use ask_user with question"}},
}

// named are the names that other harnesses have for tools, folded. Our own are among them: a run may not be offered them.
var named = map[deed]string{
	editing: "edit strreplace strreplaceeditor strreplacebasededittool replace replaceinfile editfile multiedit searchreplace " +
		"texteditor fileeditor insert",
	patching:     "patch applypatch applydiff",
	shell:        "bash executebash shell shellcommand runterminalcmd runterminalcommand runcommand executecommand execcommand runshellcommand localshell terminal exec sh cmd",
	python:       "code python executeipythoncell runpython ipython jupyter executepython pythonexecute codeinterpreter executecode runcode",
	javascript:   "javascript node nodejs js",
	reading:      "read view readfile viewfile openfile cat open readmanyfiles",
	writing:      "write createfile writefile writetofile create savefile newfile",
	listing:      "list ls listdir listdirectory listfiles",
	finding:      "glob find findfiles filesearch globfilesearch globsearch",
	searching:    "grep search searchfiles grepsearch searchfilecontent codebasesearch ripgrep rg grepfiles searchcode",
	fetching:     "fetch webfetch curl httprequest fetchurl browse readurlcontent",
	searchingWeb: "searchweb websearch googlewebsearch googlesearch",
	asking:       "askuser askuserquestion askfollowupquestion askhuman askquestion",
}

// editorCommands are those of editors with one tool for everything.
var editorCommands = map[string]deed{"view": reading, "create": writing}

// prefixes are the prefixes that some endpoints add to the names of tools.
var prefixes = []string{"functions", "defaultapi", "tools"}

// Use returns which of the offered tools serves the purpose of a call under another name, as half a sentence: "use edit with path,
// oldText and newText". It is "" if the purpose is not known, or if no offered tool serves it.
func Use(name, arguments string, offered []string) string {
	d := deedOf(fold(name))
	if d == editing {
		if args, _ := parse(arguments); args != nil {
			var command string
			if json.Unmarshal(args["command"], &command) == nil && editorCommands[command] != unknown {
				d = editorCommands[command]
			}
		}
	}
	for _, w := range ways[d] {
		if slices.Contains(offered, w.tool) {
			return w.how
		}
	}
	return ""
}

func deedOf(folded string) deed {
	for _, prefix := range prefixes {
		folded = strings.TrimPrefix(folded, prefix)
	}
	if folded == "" {
		return unknown
	}
	for d, names := range named {
		if slices.Contains(strings.Fields(names), folded) {
			return d
		}
	}
	return unknown
}

// Advice returns the replacement for an argument that the tool does not have, as a sentence of its own, "" if there is
// none. given are the names of all arguments of the call.
func Advice(tool string, schema *jsonschema.Schema, name string, given func(string) bool) string {
	to := Meant(tool, schema, name)
	switch {
	case to != "" && given(to):
		return fmt.Sprintf("It means the same as %q, which was given too, with another value: give %q alone.", to, to)
	case to != "":
		return fmt.Sprintf("Give %q instead.", to)
	case slices.Contains(folders, fold(name)) && tool == toolapi.ToolBash:
		return `Every command starts in the workspace: begin it with "cd FOLDER &&".`
	}
	if near := nearest(name, schema.PropertyOrder); near != "" {
		return fmt.Sprintf("Did you mean %q?", near)
	}
	return ""
}

// nearest returns the name that differs least from name, "" if all differ by more than a third of it.
func nearest(name string, names []string) string {
	folded := fold(name)
	best, least := "", len(folded)/3+1
	for _, n := range names {
		if d := distance(folded, fold(n)); d < least {
			best, least = n, d
		}
	}
	return best
}

// distance is how many letters must be added, removed or changed to make b of a. Both are at most maxName long.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			changed := before
			if a[i] != b[j] {
				changed++
			}
			before = row[j+1]
			row[j+1] = min(changed, before+1, row[j]+1)
		}
	}
	return row[len(b)]
}
