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
	// ToolRequestDomain asks a person for leave to reach one more domain. The engine serves it.
	ToolRequestDomain = "request_domain"
	// ToolSaveCredential stores what a file of the workspace holds as a Secret. The engine serves it.
	ToolSaveCredential = "save_credential"
)

// What the model is told of the limits of domains and credentials, in characters and items. Who serves the calls decides
// by the API's own.
const (
	MaxDomain          = 261
	MaxDomainReason    = 1024
	MaxCredentialName  = 63
	MaxCredentialHosts = 16
)

// Repeatable says whether a call of the tool can be made again without harm when nobody saw the first one end: it only
// reads, or doing it twice leaves what doing it once does.
func Repeatable(tool string) bool {
	switch tool {
	case ToolRead, ToolList, ToolRequestDomain, ToolSaveCredential:
		return true
	}
	return false
}

// HasEffects says whether a call of the tool may have done something that another attempt must know of if nobody saw it
// end. What is no tool does nothing.
func HasEffects(tool string) bool {
	switch tool {
	case ToolBash, ToolCode, ToolWrite:
		return true
	}
	return false
}

// CarriesWeb says whether a result of the tool may hold what came in from the web, if the sandbox has, or once had, a way
// out. Nobody can tell which program's output does, a file may hold what an earlier call downloaded, and the name of a
// file may be that of one in a downloaded archive. What the server says of a file that it could not use is its own.
func CarriesWeb(tool string, ok bool) bool {
	switch tool {
	case ToolBash, ToolCode:
		return true
	case ToolRead, ToolList:
		return ok
	}
	return false
}

// WaitsForPerson says whether a call of the tool gets its result from a person's answer.
func WaitsForPerson(tool string) bool { return tool == ToolAskUser || tool == ToolRequestDomain }

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

// RequestDomainArgs are the arguments of the request_domain tool.
type RequestDomainArgs struct {
	Domain string `json:"domain" jsonschema:"host name, *.host name for its subdomains, with :port if it is not 443"`
	Reason string `json:"reason" jsonschema:"why the task needs it, for the person who decides"`
}

// SaveCredentialArgs are the arguments of the save_credential tool.
type SaveCredentialArgs struct {
	Name  string   `json:"name" jsonschema:"name of the credential: lower-case letters, digits and _"`
	Path  string   `json:"path" jsonschema:"file in the workspace that holds the value and nothing else"`
	Hosts []string `json:"hosts" jsonschema:"the only hosts that the value may be sent to, each one of the allowed domains"`
}
