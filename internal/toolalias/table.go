// SPDX-License-Identifier: Apache-2.0

package toolalias

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// alias is the meaning of another name.
type alias struct {
	to string
	// convert converts the value under the other name to the value of the argument, nil if they are the same.
	convert func(json.RawMessage) (json.RawMessage, bool)
}

// row is a line of the table: an argument of a tool, and the names that others have for it, without _ and - and in lower case.
// Spellings of the argument's own name need no row.
type row struct {
	tool, to, names string
	convert         func(json.RawMessage) (json.RawMessage, bool)
}

const (
	// timeLimit is an argument of several tools.
	timeLimit = "timeoutSeconds"

	pathNames   = "filepath filename file absolutepath targetfile targetpath relativeworkspacepath"
	folderNames = "dirpath directory dir folder absolutepath filepath relativeworkspacepath"
)

var rows = []row{
	{toolapi.ToolBash, "command", "cmd script commandline commands shellcommand code input", nil},
	{toolapi.ToolBash, timeLimit, "timeout", seconds},
	{toolapi.ToolBash, timeLimit, "timeoutms timeoutmillis timeoutmilliseconds", milliseconds},
	{toolapi.ToolBash, timeLimit, "timeoutsec timeoutsecs", nil},
	{toolapi.ToolBash, "background", "runinbackground isbackground", nil},

	{toolapi.ToolCode, "source", "code script program sourcecode input content", nil},
	{toolapi.ToolCode, "language", "lang runtime interpreter", nil},
	{toolapi.ToolCode, timeLimit, "timeout", seconds},
	{toolapi.ToolCode, timeLimit, "timeoutms timeoutmillis timeoutmilliseconds", milliseconds},
	{toolapi.ToolCode, timeLimit, "timeoutsec timeoutsecs", nil},

	{toolapi.ToolRead, "path", pathNames, nil},
	{toolapi.ToolRead, "offset", "lineoffset", nil},
	{toolapi.ToolRead, "limit", "maxlines numlines linecount lines", nil},

	{toolapi.ToolWrite, "path", pathNames, nil},
	{toolapi.ToolWrite, "content", "contents filetext filecontent text newcontent", nil},

	{toolapi.ToolEdit, "path", pathNames, nil},
	{toolapi.ToolEdit, "oldText", "oldstring oldstr old search", nil},
	{toolapi.ToolEdit, "newText", "newstring newstr new replace replacement", nil},
	{toolapi.ToolEdit, "replaceAll", "allowmultiple all", nil},

	{toolapi.ToolPatch, "patch", "diff input patchtext content", nil},

	{toolapi.ToolList, "path", folderNames, nil},
	{toolapi.ToolGlob, "pattern", "globpattern glob", nil},
	{toolapi.ToolGlob, "path", folderNames, nil},

	{toolapi.ToolGrep, "pattern", "regex query searchpattern regexp", nil},
	{toolapi.ToolGrep, "path", pathNames + " dirpath directory dir folder", nil},
	{toolapi.ToolGrep, "glob", "include includepattern filepattern globpattern", nil},
	{toolapi.ToolGrep, "ignoreCase", "i caseinsensitive", nil},
	{toolapi.ToolGrep, "ignoreCase", "casesensitive", negated},
	{toolapi.ToolGrep, "literal", "fixedstrings", nil},
	{toolapi.ToolGrep, "context", "c a b before after contextlines", nil},
	{toolapi.ToolGrep, "output", "outputmode mode", nil},
	{toolapi.ToolGrep, "output", "namesonly fileswithmatches", filesOnly},

	{toolapi.ToolFetch, "url", "uri address", nil},
	{toolapi.ToolFetch, "body", "data payload", nil},
	{toolapi.ToolFetch, "saveTo", "outputfile outputpath", nil},
	{toolapi.ToolFetch, timeLimit, "timeout", seconds},
	{toolapi.ToolFetch, timeLimit, "timeoutms timeoutmillis timeoutmilliseconds", milliseconds},

	{toolapi.ToolSearchWeb, "query", "q searchquery searchterm", nil},
	{toolapi.ToolSearchWeb, "limit", "maxresults numresults count", nil},
	{toolapi.ToolSaveArtifact, "path", pathNames, nil},
	{toolapi.ToolSaveCredential, "path", pathNames, nil},
	{toolapi.ToolAskUser, "question", "message prompt text query", nil},
	{toolapi.ToolAskUser, "options", "choices answers", nil},
}

// spellings are other words for the values of arguments.
var spellings = map[string][]string{
	toolapi.LanguagePython:     {"py", "python3", "ipython"},
	toolapi.LanguageJavaScript: {"js", "node", "nodejs", "node.js"},
	toolapi.GrepFiles:          {"files_with_matches", "fileswithmatches", "names"},
}

// aliases is the table by tool and name.
var aliases = sync.OnceValue(func() map[string]map[string]alias {
	all := map[string]map[string]alias{}
	for _, r := range rows {
		if all[r.tool] == nil {
			all[r.tool] = map[string]alias{}
		}
		for name := range strings.FieldsSeq(r.names) {
			all[r.tool][name] = alias{r.to, r.convert}
		}
	}
	return all
})

// remarks are arguments in which a model comments on its call. They do not change what any tool does.
var remarks = strings.Fields(`description explanation securityrisk summary thought thoughts reasoning reason rationale justification
	purpose intent instruction instructions title toolsummary requiresapproval waitforprevious`)

// settings are arguments that match a tool's fixed behavior, or that only make its result shorter.
var settings = map[string][]string{
	toolapi.ToolBash:      strings.Fields("login shell yieldtimems maxoutputtokens blocking"),
	toolapi.ToolGrep:      strings.Fields("n linenumbers headlimit limit maxresults maxmatchesperfile totalmaxmatches respectgitignore filefilteringoptions"),
	toolapi.ToolGlob:      strings.Fields("limit headlimit maxresults respectgitignore respectgeminiignore filefilteringoptions"),
	toolapi.ToolList:      strings.Fields("limit headlimit maxresults respectgitignore respectgeminiignore filefilteringoptions"),
	toolapi.ToolRead:      strings.Fields("encoding"),
	toolapi.ToolWrite:     strings.Fields("encoding overwrite createdirs"),
	toolapi.ToolFetch:     strings.Fields("prompt"),
	toolapi.ToolSearchWeb: strings.Fields("alloweddomains blockeddomains"),
}

// switches are arguments that mean nothing as long as they are off. A switch that is on would change the call, and is refused.
var switches = strings.Fields(`isinput restart reset tty multiline withescalatedpermissions dangerouslydisablesandbox noignore ignore
	exclude excludepattern pages shouldreadentirefile`)

// commandsOf are the commands of editors with one tool for everything that our tool of that name carries out.
var commandsOf = map[string][]string{
	toolapi.ToolEdit: {"str_replace"}, toolapi.ToolWrite: {"create"}, toolapi.ToolRead: {"view"}, toolapi.ToolList: {"view"},
}

// folders are arguments that set the working directory of a command.
var folders = strings.Fields("workdir cwd workingdirectory workingdir directory dirpath")

// workspaces are the values of folders that change nothing: commands run in the workspace.
var workspaces = []string{"", ".", "./", "/workspace", "/workspace/"}

// ignored reports whether an argument that the tool does not have can be omitted without changing the call's effect. A question to a
// person is never shortened.
func ignored(tool, name string, value json.RawMessage) bool {
	name = fold(name)
	if toolapi.WaitsForPerson(tool) || name == "" {
		return false
	}
	var text string
	isText := json.Unmarshal(value, &text) == nil
	switch {
	case aliases()[tool][name].to != "":
		return string(value) == "null"
	case slices.Contains(remarks, name), slices.Contains(settings[tool], name):
		return true
	case slices.Contains(switches, name):
		return isOff(value)
	case name == "command":
		return isText && slices.Contains(commandsOf[tool], text)
	case name == "expectedreplacements":
		return string(integer(value)) == "1"
	case name == "sandboxpermissions":
		return isText && text == "use_default"
	case slices.Contains(folders, name) && startsInWorkspace(tool):
		return isText && slices.Contains(workspaces, text)
	}
	return false
}

func startsInWorkspace(tool string) bool { return tool == toolapi.ToolBash || tool == toolapi.ToolCode }

// isOff reports whether a value is false, zero or empty.
func isOff(value json.RawMessage) bool {
	switch string(boolean(compact(value))) {
	case "false", "null", "0", `""`, "[]", "{}":
		return true
	}
	return false
}
