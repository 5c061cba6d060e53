// SPDX-License-Identifier: Apache-2.0

package toolapi

// Names of the tools.
const (
	ToolBash    = "bash"
	ToolCode    = "code"
	ToolRead    = "read"
	ToolWrite   = "write"
	ToolList    = "list"
	ToolAskUser = "ask_user"
)

// ReadOnly says whether a tool does nothing but read: a call of it can be made again without harm.
func ReadOnly(tool string) bool { return tool == ToolRead || tool == ToolList }

// BashArgs are the arguments of the bash tool.
type BashArgs struct {
	Command        string `json:"command" jsonschema:"the command line, run by bash -c in the workspace"`
	TimeoutSeconds int32  `json:"timeoutSeconds,omitempty" jsonschema:"seconds until the command and everything it started is killed: default 60, at most 300"`
}

// CodeArgs are the arguments of the code tool.
type CodeArgs struct {
	Language       string `json:"language" jsonschema:"javascript (Node.js) or python"`
	Source         string `json:"source" jsonschema:"the program; what it prints is the output"`
	TimeoutSeconds int32  `json:"timeoutSeconds,omitempty" jsonschema:"seconds until the program and everything it started is killed: default 30, at most 300"`
}

// Values of CodeArgs.Language.
const (
	LanguageJavaScript = "javascript"
	LanguagePython     = "python"
)

// ReadArgs are the arguments of the read tool.
type ReadArgs struct {
	Path   string `json:"path" jsonschema:"file in the workspace"`
	Offset int32  `json:"offset,omitempty" jsonschema:"first line to return, counted from 1: default 1"`
	Limit  int32  `json:"limit,omitempty" jsonschema:"most lines to return: default all that fit"`
}

// WriteArgs are the arguments of the write tool.
type WriteArgs struct {
	Path    string `json:"path" jsonschema:"file in the workspace; missing folders are made"`
	Content string `json:"content" jsonschema:"the whole new content"`
	Append  bool   `json:"append,omitempty" jsonschema:"true adds to the end of the file instead of replacing it"`
}

// ListArgs are the arguments of the list tool.
type ListArgs struct {
	Path      string `json:"path,omitempty" jsonschema:"folder in the workspace: default the workspace itself"`
	Recursive bool   `json:"recursive,omitempty" jsonschema:"true lists the folders below it too"`
}

// AskUserArgs are the arguments of the ask_user tool, which the engine serves by itself.
type AskUserArgs struct {
	Question string   `json:"question" jsonschema:"the question, complete in itself: the person sees nothing else"`
	Options  []string `json:"options,omitempty" jsonschema:"answers to choose from, at most 10; the person may still answer freely"`
	Default  string   `json:"default,omitempty" jsonschema:"the answer you would choose"`
}
