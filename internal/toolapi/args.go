// SPDX-License-Identifier: Apache-2.0

package toolapi

import "strings"

// Names of the tools.
const (
	ToolBash  = "bash"
	ToolCode  = "code"
	ToolRead  = "read"
	ToolWrite = "write"
	ToolEdit  = "edit"
	ToolPatch = "patch"
	ToolList  = "list"
	ToolGlob  = "glob"
	ToolGrep  = "grep"
	ToolFetch = "fetch"
	// ToolSearchWeb asks the search provider of the namespace. The engine serves it.
	ToolSearchWeb = "search_web"
	// ToolSaveArtifact marks a file of the workspace as one that the run leaves behind.
	ToolSaveArtifact = "save_artifact"
	// ToolAskUser asks a person. The engine serves it.
	ToolAskUser = "ask_user"
	// ToolFinish ends the attempt. The engine serves it.
	ToolFinish = "finish"
	// ToolRequestApproval asks a person for leave to do what the model doubts. The engine serves it.
	ToolRequestApproval = "request_approval"
	// ToolRequestDomain asks a person for leave to reach one more domain. The engine serves it.
	ToolRequestDomain = "request_domain"
	// ToolSaveCredential stores what a file of the workspace holds as a Secret. The engine serves it.
	ToolSaveCredential = "save_credential"
	// ToolOneshot runs the code of a Oneshot run. No model is told of it.
	ToolOneshot = "oneshot"
	// ToolOneshotNetwork is ToolOneshot for a run that has domains.
	ToolOneshotNetwork = "oneshot_network"
	// ToolInstall installs the packages of a run of mode Install. No model is told of it.
	ToolInstall = "install"

	// mcpPrefix begins the names of the tools of MCP servers.
	mcpPrefix = "mcp__"
	// MaxToolName is the longest name of a tool that model endpoints take.
	MaxToolName = 64
)

// MCPToolName is the name under which the model knows a tool of an MCP server.
func MCPToolName(server, tool string) string { return mcpPrefix + server + "__" + tool }

// ParseMCPToolName takes such a name apart. The name of a server has no "__".
func ParseMCPToolName(name string) (server, tool string, ok bool) {
	rest, ok := strings.CutPrefix(name, mcpPrefix)
	if !ok {
		return "", "", false
	}
	server, tool, ok = strings.Cut(rest, "__")
	return server, tool, ok && server != "" && tool != ""
}

// IsMCPTool says whether the name is that of a tool of an MCP server.
func IsMCPTool(name string) bool { _, _, ok := ParseMCPToolName(name); return ok }

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
	case ToolRead, ToolList, ToolGlob, ToolGrep, ToolSearchWeb, ToolSaveArtifact, ToolRequestDomain, ToolSaveCredential, ToolOneshot,
		ToolInstall:
		return true
	}
	return false
}

// HasEffects says whether a call of the tool may have done something that another attempt must know of if nobody saw it
// end. What is no tool does nothing.
func HasEffects(tool string) bool {
	switch tool {
	case ToolBash, ToolCode, ToolWrite, ToolEdit, ToolPatch, ToolFetch, ToolOneshotNetwork:
		return true
	}
	return IsMCPTool(tool)
}

// CarriesWeb says whether a result of the tool may hold what came in from the web, if the sandbox has, or once had, a way
// out, or was given a file that came from there. Nobody can tell which program's output does, a file may hold what an
// earlier call downloaded, and the name of a file may be that of one in a downloaded archive. What the server says of a
// file that it could not use is its own.
func CarriesWeb(tool string, ok bool) bool {
	switch tool {
	case ToolBash, ToolCode:
		return true
	case ToolRead, ToolList, ToolGlob, ToolGrep:
		return ok
	}
	return AlwaysWeb(tool)
}

// AlwaysWeb says whether every result of the tool counts as what came in from the web.
func AlwaysWeb(tool string) bool {
	return tool == ToolFetch || tool == ToolSearchWeb || tool == ToolInstall || tool == ToolOneshotNetwork || IsMCPTool(tool)
}

// ReachesOut says whether a call of the tool can use the sandbox's way out.
func ReachesOut(tool string) bool {
	switch tool {
	case ToolBash, ToolCode, ToolFetch, ToolInstall:
		return true
	}
	return IsOneshot(tool) || IsMCPTool(tool)
}

// IsOneshot says whether the tool runs the code of a Oneshot run.
func IsOneshot(tool string) bool { return tool == ToolOneshot || tool == ToolOneshotNetwork }

// WaitsForPerson says whether a call of the tool gets its result from a person's answer.
func WaitsForPerson(tool string) bool {
	return tool == ToolAskUser || tool == ToolRequestDomain || tool == ToolRequestApproval
}

// BashArgs are the arguments of the bash tool.
type BashArgs struct {
	Command        string `json:"command" jsonschema:"the command line, run by bash -c in the workspace"`
	TimeoutSeconds int32  `json:"timeoutSeconds,omitempty" jsonschema:"seconds until the command and everything it started is killed: default 60, at most 300"`
	Background     bool   `json:"background,omitempty" jsonschema:"true starts the command and does not wait for its end: a server, for example. It is killed when the task ends, and when the run is suspended or waits long for a person; you are told then"`
	IdempotencyKey string `json:"idempotencyKey,omitempty" jsonschema:"for a command whose effect must not happen twice: the same key means the same effect, also in a later attempt; the command gets it as IDEMPOTENCY_KEY"`
}

// CodeArgs are the arguments of the code tool.
type CodeArgs struct {
	Language       string `json:"language" jsonschema:"javascript (Node.js) or python"`
	Source         string `json:"source" jsonschema:"the program; its result is what it prints, and the value of its last expression"`
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

// EditArgs are the arguments of the edit tool.
type EditArgs struct {
	Path       string `json:"path" jsonschema:"file in the workspace"`
	OldText    string `json:"oldText" jsonschema:"text to replace, exactly as it is in the file, with enough around it to be there only once"`
	NewText    string `json:"newText" jsonschema:"what takes its place"`
	ReplaceAll bool   `json:"replaceAll,omitempty" jsonschema:"true replaces every occurrence"`
}

// PatchArgs are the arguments of the patch tool.
type PatchArgs struct {
	Patch string `json:"patch" jsonschema:"a unified diff of one file or several, or a patch that begins with *** Begin Patch"`
}

// ListArgs are the arguments of the list tool.
type ListArgs struct {
	Path      string `json:"path,omitempty" jsonschema:"folder in the workspace: default the workspace itself"`
	Recursive bool   `json:"recursive,omitempty" jsonschema:"true lists the folders below it too"`
}

// GlobArgs are the arguments of the glob tool.
type GlobArgs struct {
	Pattern string `json:"pattern" jsonschema:"paths to find, src/**/*.go for example: * and ? match within a name, ** any folders, {a,b} either, [a-z] one of"`
	Path    string `json:"path,omitempty" jsonschema:"folder in the workspace to look in: default the workspace itself"`
}

// GlobNothing begins the output of glob if nothing matches.
const GlobNothing = "[nothing matches]\n"

// GrepArgs are the arguments of the grep tool.
type GrepArgs struct {
	Pattern    string `json:"pattern" jsonschema:"regular expression in the syntax of ripgrep"`
	Path       string `json:"path,omitempty" jsonschema:"file or folder in the workspace to look in: default the workspace itself"`
	Glob       string `json:"glob,omitempty" jsonschema:"only files whose path matches this, *.go for example"`
	IgnoreCase bool   `json:"ignoreCase,omitempty" jsonschema:"true makes no difference between upper and lower case"`
	Literal    bool   `json:"literal,omitempty" jsonschema:"true takes the pattern as text and not as a regular expression"`
	Context    int32  `json:"context,omitempty" jsonschema:"lines to show before and after each match: default 0, at most 20"`
	Output     string `json:"output,omitempty" jsonschema:"content (default), files for the names of files with a match, count for the number of matching lines of each"`
}

// Values of GrepArgs.Output.
const (
	GrepContent = "content"
	GrepFiles   = "files"
	GrepCount   = "count"
)

// FetchArgs are the arguments of the fetch tool.
type FetchArgs struct {
	URL            string            `json:"url" jsonschema:"https or http address of one of the allowed hosts"`
	Method         string            `json:"method,omitempty" jsonschema:"GET (default), HEAD, POST, PUT, PATCH, DELETE or OPTIONS"`
	Headers        map[string]string `json:"headers,omitempty" jsonschema:"further request headers"`
	Body           string            `json:"body,omitempty" jsonschema:"request body"`
	BodyFile       string            `json:"bodyFile,omitempty" jsonschema:"file in the workspace to send as the request body, instead of body"`
	SaveTo         string            `json:"saveTo,omitempty" jsonschema:"file in the workspace to put the response body into, as it came, instead of showing it"`
	Raw            bool              `json:"raw,omitempty" jsonschema:"true shows HTML as it came; by default it is turned into Markdown"`
	TimeoutSeconds int32             `json:"timeoutSeconds,omitempty" jsonschema:"seconds that it may take: default 30, at most 120"`
	IdempotencyKey string            `json:"idempotencyKey,omitempty" jsonschema:"for a request whose effect must not happen twice: the same key means the same effect, also in a later attempt; it is sent as Idempotency-Key"`
}

// SearchWebArgs are the arguments of the search_web tool.
type SearchWebArgs struct {
	Query string `json:"query" jsonschema:"what to search for"`
	Limit int32  `json:"limit,omitempty" jsonschema:"most results: default 10, at most 20"`
}

// SaveArtifactArgs are the arguments of the save_artifact tool.
type SaveArtifactArgs struct {
	Path string `json:"path" jsonschema:"file in the workspace that belongs to the result; files below artifacts/ do so by themselves"`
}

// RequestApprovalArgs are the arguments of the request_approval tool.
type RequestApprovalArgs struct {
	Action string `json:"action" jsonschema:"what you are about to do, complete in itself: the person sees nothing else"`
	Reason string `json:"reason,omitempty" jsonschema:"why you are in doubt"`
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
