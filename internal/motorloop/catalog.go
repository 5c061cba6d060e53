// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"github.com/google/jsonschema-go/jsonschema"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// NewCatalog describes the tools by the argument structs of toolapi. Names, types, descriptions and what is required
// come from the structs; what a Go type cannot say is added here. It panics if a struct cannot be described, which
// does not depend on any input.
func NewCatalog() *Catalog {
	return &Catalog{tools: []catalogTool{
		describe[toolapi.BashArgs](toolapi.ToolBash,
			"Runs a command line with bash in the workspace. Standard output and standard error come back together. "+
				"Every call is a new shell: variables and the current folder are not kept, files are. Nobody can type: "+
				"a command that waits for input is killed at its time limit, and so is what it left running. Start a server "+
				"with background; what runs so is listed with its process number, and its output is in a file.",
			func(p map[string]*jsonschema.Schema) {
				notEmpty(p["command"])
				between(p["timeoutSeconds"], 1, 300)
				p["idempotencyKey"].MaxLength = new(toolapi.MaxIdempotencyKey)
			}),
		describe[toolapi.CodeArgs](toolapi.ToolCode,
			"Runs a program in the workspace. What comes back is what it prints and the value of its last expression, apart. "+
				"Use it for every computation: do not compute in your head what a program can compute.",
			func(p map[string]*jsonschema.Schema) {
				p["language"].Enum = []any{toolapi.LanguageJavaScript, toolapi.LanguagePython}
				notEmpty(p["source"])
				between(p["timeoutSeconds"], 1, 300)
			}),
		describe[toolapi.ReadArgs](toolapi.ToolRead,
			"Reads a text file of the workspace, each line with its number and a tab before it, which are not part of the file.",
			func(p map[string]*jsonschema.Schema) {
				notEmpty(p["path"])
				atLeast(p["offset"], 1)
				atLeast(p["limit"], 1)
			}),
		describe[toolapi.WriteArgs](toolapi.ToolWrite,
			"Writes a text file of the workspace. A large file is written in parts with append.",
			func(p map[string]*jsonschema.Schema) { notEmpty(p["path"]) }),
		describe[toolapi.EditArgs](toolapi.ToolEdit,
			"Replaces one piece of text in a file of the workspace. The text must be there exactly once, unless replaceAll is true: "+
				"otherwise nothing is changed.",
			func(p map[string]*jsonschema.Schema) {
				notEmpty(p["path"])
				notEmpty(p["oldText"])
			}),
		describe[toolapi.PatchArgs](toolapi.ToolPatch,
			"Applies a patch to files of the workspace: changes, creates, deletes and renames them. If one hunk of a file does not fit, "+
				"that file stays as it was; the others are changed.",
			func(p map[string]*jsonschema.Schema) { notEmpty(p["patch"]) }),
		describe[toolapi.ListArgs](toolapi.ToolList,
			"Lists files and folders of the workspace with their sizes.",
			func(map[string]*jsonschema.Schema) {}),
		describe[toolapi.GlobArgs](toolapi.ToolGlob,
			"Finds files and folders of the workspace by a pattern for their paths, the ones changed last first.",
			func(p map[string]*jsonschema.Schema) { notEmpty(p["pattern"]) }),
		describe[toolapi.GrepArgs](toolapi.ToolGrep,
			"Searches the contents of files in the workspace with ripgrep. What .gitignore names, hidden files and binary files are left out.",
			func(p map[string]*jsonschema.Schema) {
				notEmpty(p["pattern"])
				between(p["context"], 0, 20)
				p["output"].Enum = []any{toolapi.GrepContent, toolapi.GrepFiles, toolapi.GrepCount}
			}),
		describe[toolapi.FetchArgs](toolapi.ToolFetch,
			"Makes one HTTP request to an allowed host and shows status, final address and body: HTML as Markdown, JSON with line breaks. "+
				"A big or binary body is put into a file of the workspace, which the result names.",
			func(p map[string]*jsonschema.Schema) {
				notEmpty(p["url"])
				p["method"].Enum = []any{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
				p["headers"].Type, p["headers"].Types = "object", nil
				between(p["timeoutSeconds"], 1, 120)
				p["idempotencyKey"].MaxLength = new(toolapi.MaxIdempotencyKey)
			}),
		describe[toolapi.SearchWebArgs](toolapi.ToolSearchWeb,
			"Searches the web and shows titles, addresses and summaries of what was found. To read a page, its host must be allowed.",
			func(p map[string]*jsonschema.Schema) {
				notEmpty(p["query"])
				between(p["limit"], 1, 20)
			}),
		describe[toolapi.SaveArtifactArgs](toolapi.ToolSaveArtifact,
			"Marks a file of the workspace as one that the person gets with the result. What it holds at the end counts.",
			func(p map[string]*jsonschema.Schema) { notEmpty(p["path"]) }),
		describe[toolapi.AskUserArgs](toolapi.ToolAskUser,
			"Asks the person for whom you work and waits, perhaps for long. Ask only for what you can neither find out "+
				"nor decide yourself; ask before doing what cannot be undone and was not asked for.",
			func(p map[string]*jsonschema.Schema) {
				notEmpty(p["question"])
				p["question"].MaxLength = new(toolapi.MaxQuestion)
				// A nil slice is null to Go, but a list is all that the model is to give.
				p["options"].Type, p["options"].Types = "array", nil
				p["options"].MaxItems = new(toolapi.MaxOptions)
				notEmpty(p["options"].Items)
				p["options"].Items.MaxLength = new(toolapi.MaxOption)
				p["default"].MaxLength = new(toolapi.MaxOption)
			}),
		describe[toolapi.FinishArgs](toolapi.ToolFinish,
			"Ends the task. Nothing can be done after it.",
			func(p map[string]*jsonschema.Schema) {
				p["status"].Enum = []any{string(toolapi.FinishSucceeded), string(toolapi.FinishPartial), string(toolapi.FinishFailed)}
				notEmpty(p["summary"])
				p["summary"].MaxLength = new(toolapi.MaxFinishSummary)
				p["files"].Type, p["files"].Types = "array", nil
				p["files"].MaxItems = new(toolapi.MaxFinishFiles)
				notEmpty(p["files"].Items)
				p["files"].Items.MaxLength = new(toolapi.MaxFinishPath)
				// Any JSON.
				p["value"].Type, p["value"].Types, p["value"].Items = "", nil, nil
			}),
		describe[toolapi.RequestApprovalArgs](toolapi.ToolRequestApproval,
			"Asks the person for leave to do one thing that you doubt you should do, and waits, perhaps for long. It allows nothing that the "+
				"rules of this task forbid.",
			func(p map[string]*jsonschema.Schema) {
				notEmpty(p["action"])
				p["action"].MaxLength = new(toolapi.MaxQuestion)
				p["reason"].MaxLength = new(toolapi.MaxDomainReason)
			}),
		describe[toolapi.RequestDomainArgs](toolapi.ToolRequestDomain,
			"Asks the person to let the sandbox reach one more host, and waits, perhaps for long. Ask only for what the task "+
				"cannot do without, for one host at a time, and say what for.",
			func(p map[string]*jsonschema.Schema) {
				notEmpty(p["domain"])
				p["domain"].MaxLength = new(toolapi.MaxDomain)
				notEmpty(p["reason"])
				p["reason"].MaxLength = new(toolapi.MaxDomainReason)
			}),
		describe[toolapi.SaveCredentialArgs](toolapi.ToolSaveCredential,
			"Stores what a file of the workspace holds as a credential for later runs. The value is not shown to anybody, nor "+
				"should it be to you: have the answer that contains it written to a file, and cut it out into a file of its own with a "+
				"program. Delete both when it is stored. Never write a value into arguments or into an answer.",
			func(p map[string]*jsonschema.Schema) {
				notEmpty(p["name"])
				p["name"].MaxLength = new(toolapi.MaxCredentialName)
				notEmpty(p["path"])
				p["hosts"].Type, p["hosts"].Types = "array", nil
				p["hosts"].MinItems, p["hosts"].MaxItems = new(1), new(toolapi.MaxCredentialHosts)
				notEmpty(p["hosts"].Items)
				p["hosts"].Items.MaxLength = new(toolapi.MaxDomain)
			}),
	}}
}
