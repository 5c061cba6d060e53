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
	// ToolSaveArtifact marks a file of the workspace as an artifact of the run.
	ToolSaveArtifact = "save_artifact"
	// ToolAskUser asks a person. The engine serves it.
	ToolAskUser = "ask_user"
	// ToolFinish ends the attempt. The engine serves it.
	ToolFinish = "finish"
	// ToolRequestApproval asks a person to approve an action that the model doubts. The engine serves it.
	ToolRequestApproval = "request_approval"
	// ToolRequestDomain asks a person to allow one more domain. The engine serves it.
	ToolRequestDomain = "request_domain"
	// ToolSaveCredential stores the content of a file of the workspace as a Secret. The engine serves it.
	ToolSaveCredential = "save_credential"
	// ToolOneshot runs the code of a Oneshot run. No model sees it.
	ToolOneshot = "oneshot"
	// ToolOneshotNetwork is ToolOneshot for a run that has domains.
	ToolOneshotNetwork = "oneshot_network"
	// ToolInstall installs the packages of a run of mode Install. No model sees it.
	ToolInstall = "install"

	// mcpPrefix begins the names of the tools of MCP servers.
	mcpPrefix = "mcp__"
	// MaxToolName is the longest name of a tool that model endpoints accept.
	MaxToolName = 64
)

// MCPToolName returns the name under which the model knows a tool of an MCP server.
func MCPToolName(server, tool string) string { return mcpPrefix + server + "__" + tool }

// ParseMCPToolName splits such a name. The name of a server has no "__".
func ParseMCPToolName(name string) (server, tool string, ok bool) {
	rest, ok := strings.CutPrefix(name, mcpPrefix)
	if !ok {
		return "", "", false
	}
	server, tool, ok = strings.Cut(rest, "__")
	return server, tool, ok && server != "" && tool != ""
}

// IsMCPTool reports whether the name is that of a tool of an MCP server.
func IsMCPTool(name string) bool { _, _, ok := ParseMCPToolName(name); return ok }

// The limits of domains and credentials in the schemas for the model, in characters and items. The servers of the calls apply
// the API's own.
const (
	MaxDomain          = 261
	MaxDomainReason    = 1024
	MaxCredentialName  = 63
	MaxCredentialHosts = 16
)

// The descriptions stand in every request of every run: an argument whose name says all has none.

// BashArgs are the arguments of the bash tool.
type BashArgs struct {
	Command        string `json:"command"`
	TimeoutSeconds int32  `json:"timeoutSeconds,omitempty" jsonschema:"default 60, at most 300"`
	Background     bool   `json:"background,omitempty" jsonschema:"true: do not wait for the end, for a server"`
	IdempotencyKey string `json:"idempotencyKey,omitempty" jsonschema:"names an effect outside that must not happen twice"`
}

// CodeArgs are the arguments of the code tool.
type CodeArgs struct {
	Language       string `json:"language"`
	Source         string `json:"source"`
	TimeoutSeconds int32  `json:"timeoutSeconds,omitempty" jsonschema:"default 30, at most 300"`
}

// Values of CodeArgs.Language.
const (
	LanguageJavaScript = "javascript"
	LanguagePython     = "python"
)

// ReadArgs are the arguments of the read tool.
type ReadArgs struct {
	Path   string `json:"path"`
	Offset int32  `json:"offset,omitempty" jsonschema:"first line, from 1"`
	Limit  int32  `json:"limit,omitempty" jsonschema:"number of lines"`
}

// WriteArgs are the arguments of the write tool.
type WriteArgs struct {
	Path    string `json:"path"`
	Content string `json:"content"`
	Append  bool   `json:"append,omitempty" jsonschema:"true: add to the end"`
}

// EditArgs are the arguments of the edit tool.
type EditArgs struct {
	Path       string `json:"path"`
	OldText    string `json:"oldText"`
	NewText    string `json:"newText"`
	ReplaceAll bool   `json:"replaceAll,omitempty"`
}

// PatchArgs are the arguments of the patch tool.
type PatchArgs struct {
	Patch string `json:"patch"`
}

// ListArgs are the arguments of the list tool.
type ListArgs struct {
	Path      string `json:"path,omitempty" jsonschema:"default: the workspace"`
	Recursive bool   `json:"recursive,omitempty"`
}

// GlobArgs are the arguments of the glob tool.
type GlobArgs struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path,omitempty" jsonschema:"default: the workspace"`
}

// GlobNothing begins the output of glob if nothing matches.
const GlobNothing = "[nothing matches]\n"

// GrepArgs are the arguments of the grep tool.
type GrepArgs struct {
	Pattern    string `json:"pattern" jsonschema:"regular expression"`
	Path       string `json:"path,omitempty" jsonschema:"file or folder"`
	Glob       string `json:"glob,omitempty" jsonschema:"only these files, such as *.go"`
	IgnoreCase bool   `json:"ignoreCase,omitempty"`
	Literal    bool   `json:"literal,omitempty" jsonschema:"true: pattern is plain text"`
	Context    int32  `json:"context,omitempty" jsonschema:"lines around each match"`
	Output     string `json:"output,omitempty"`
}

// Values of GrepArgs.Output.
const (
	GrepContent = "content"
	GrepFiles   = "files"
	GrepCount   = "count"
)

// FetchArgs are the arguments of the fetch tool.
type FetchArgs struct {
	URL            string            `json:"url"`
	Method         string            `json:"method,omitempty"`
	Headers        map[string]string `json:"headers,omitempty"`
	Body           string            `json:"body,omitempty"`
	BodyFile       string            `json:"bodyFile,omitempty" jsonschema:"file to send as the body"`
	SaveTo         string            `json:"saveTo,omitempty" jsonschema:"file for the response body"`
	Raw            bool              `json:"raw,omitempty" jsonschema:"true: HTML as it came"`
	TimeoutSeconds int32             `json:"timeoutSeconds,omitempty" jsonschema:"default 30, at most 120"`
	IdempotencyKey string            `json:"idempotencyKey,omitempty" jsonschema:"names an effect that must not happen twice"`
}

// SearchWebArgs are the arguments of the search_web tool.
type SearchWebArgs struct {
	Query string `json:"query"`
	Limit int32  `json:"limit,omitempty" jsonschema:"default 10, at most 20"`
}

// SaveArtifactArgs are the arguments of the save_artifact tool.
type SaveArtifactArgs struct {
	Path string `json:"path"`
}

// RequestApprovalArgs are the arguments of the request_approval tool.
type RequestApprovalArgs struct {
	Action string `json:"action" jsonschema:"complete in itself: the person sees nothing else"`
	Reason string `json:"reason,omitempty" jsonschema:"why you are in doubt"`
}

// AskUserArgs are the arguments of the ask_user tool, which the engine serves by itself.
type AskUserArgs struct {
	Question string   `json:"question" jsonschema:"complete in itself: the person sees nothing else"`
	Options  []string `json:"options,omitempty" jsonschema:"at most 10 answers to choose from"`
	Default  string   `json:"default,omitempty" jsonschema:"what you would choose: a suggestion, which decides nothing"`
	Files    []string `json:"files,omitempty" jsonschema:"at most 8 files that you want with the answer, each described in a line: they come into the folder answers"`
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
