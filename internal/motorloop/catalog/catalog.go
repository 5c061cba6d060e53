// SPDX-License-Identifier: Apache-2.0

// Package catalog defines the tools as the model sees them: their names, descriptions and schemas, and the check of the arguments of a call.
// The loop imports it; it does not know the loop.
package catalog

import (
	"github.com/google/jsonschema-go/jsonschema"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// New describes the tools by the argument structs of toolapi. Names, types, descriptions and required fields come from the structs;
// New adds the constraints that a Go type cannot express. It panics if a struct cannot be described, which does not depend on any input.
func New() *Catalog {
	return &Catalog{tools: []catalogTool{
		describe[toolapi.BashArgs](toolapi.ToolBash,
			"Runs a command line with bash in the workspace. Standard output and error come back together. Every call is a new shell: files "+
				"stay, variables and the current folder do not. There is no terminal to type into. Programs left running with & end with the call.",
			func(p map[string]*jsonschema.Schema) {
				notEmpty(p["command"])
				between(p["timeoutSeconds"], 1, 300)
				p["idempotencyKey"].MaxLength = new(toolapi.MaxIdempotencyKey)
			}),
		describe[toolapi.CodeArgs](toolapi.ToolCode,
			"Runs a program in the workspace. The result is what it prints, and the value of its last expression. Use it to compute.",
			func(p map[string]*jsonschema.Schema) {
				p["language"].Enum = []any{toolapi.LanguageJavaScript, toolapi.LanguagePython}
				notEmpty(p["source"])
				between(p["timeoutSeconds"], 1, 300)
			}),
		describe[toolapi.ReadArgs](toolapi.ToolRead,
			"Reads a text file. Line numbers stand before the lines.",
			func(p map[string]*jsonschema.Schema) {
				notEmpty(p["path"])
				atLeast(p["offset"], 1)
				atLeast(p["limit"], 1)
			}),
		describe[toolapi.WriteArgs](toolapi.ToolWrite,
			"Writes a text file, and the folders it needs.",
			func(p map[string]*jsonschema.Schema) { notEmpty(p["path"]) }),
		describe[toolapi.EditArgs](toolapi.ToolEdit,
			"Replaces oldText in a file by newText. oldText must be there exactly once, unless replaceAll is true.",
			func(p map[string]*jsonschema.Schema) {
				notEmpty(p["path"])
				notEmpty(p["oldText"])
			}),
		describe[toolapi.PatchArgs](toolapi.ToolPatch,
			"Applies a unified diff, or a patch that begins with *** Begin Patch. A file that a hunk does not fit stays as it was.",
			func(p map[string]*jsonschema.Schema) { notEmpty(p["patch"]) }),
		describe[toolapi.ListArgs](toolapi.ToolList,
			"Lists a folder, with sizes.",
			func(map[string]*jsonschema.Schema) {}),
		describe[toolapi.GlobArgs](toolapi.ToolGlob,
			"Finds files by a pattern such as src/**/*.{ts,js}, the newest first.",
			func(p map[string]*jsonschema.Schema) { notEmpty(p["pattern"]) }),
		describe[toolapi.GrepArgs](toolapi.ToolGrep,
			"Searches files with ripgrep. Hidden files, and those that .gitignore names, are left out.",
			func(p map[string]*jsonschema.Schema) {
				notEmpty(p["pattern"])
				between(p["context"], 0, 20)
				p["output"].Enum = []any{toolapi.GrepContent, toolapi.GrepFiles, toolapi.GrepCount}
			}),
		describe[toolapi.FetchArgs](toolapi.ToolFetch,
			"Makes one HTTP request to an allowed host and shows status, address and body: HTML as Markdown. A large or binary body goes into a "+
				"file that the result names.",
			func(p map[string]*jsonschema.Schema) {
				notEmpty(p["url"])
				p["method"].Enum = []any{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
				p["headers"].Type, p["headers"].Types = "object", nil
				between(p["timeoutSeconds"], 1, 120)
				p["idempotencyKey"].MaxLength = new(toolapi.MaxIdempotencyKey)
			}),
		describe[toolapi.SearchWebArgs](toolapi.ToolSearchWeb,
			"Searches the web: titles, addresses and summaries. To read a page, its host must be allowed.",
			func(p map[string]*jsonschema.Schema) {
				notEmpty(p["query"])
				between(p["limit"], 1, 20)
			}),
		describe[toolapi.SaveArtifactArgs](toolapi.ToolSaveArtifact,
			"Marks a file as one that the person gets. What it holds at the end counts.",
			func(p map[string]*jsonschema.Schema) { notEmpty(p["path"]) }),
		describe[toolapi.AskUserArgs](toolapi.ToolAskUser,
			"Asks the person and waits, perhaps for hours. For what only the person can know or decide, and before you do what the task does not "+
				"ask for and cannot be undone.",
			func(p map[string]*jsonschema.Schema) {
				notEmpty(p["question"])
				p["question"].MaxLength = new(toolapi.MaxQuestion)
				// A nil slice is null to Go, but the model must pass a list.
				p["options"].Type, p["options"].Types = "array", nil
				p["options"].MaxItems = new(toolapi.MaxOptions)
				notEmpty(p["options"].Items)
				p["options"].Items.MaxLength = new(toolapi.MaxOption)
				p["default"].MaxLength = new(toolapi.MaxOption)
				p["files"].Type, p["files"].Types = "array", nil
				p["files"].MaxItems = new(toolapi.MaxAskFiles)
				notEmpty(p["files"].Items)
				p["files"].Items.MaxLength = new(toolapi.MaxAskFile)
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
			"Asks the person for leave to do one thing that you doubt you should do, and waits. It allows nothing that the rules of this task "+
				"forbid.",
			func(p map[string]*jsonschema.Schema) {
				notEmpty(p["action"])
				p["action"].MaxLength = new(toolapi.MaxQuestion)
				p["reason"].MaxLength = new(toolapi.MaxDomainReason)
			}),
		describe[toolapi.RequestDomainArgs](toolapi.ToolRequestDomain,
			"Asks the person to let the sandbox reach one more host, and waits, perhaps for hours. Ask only for a host that the task names or needs.",
			func(p map[string]*jsonschema.Schema) {
				notEmpty(p["domain"])
				p["domain"].MaxLength = new(toolapi.MaxDomain)
				notEmpty(p["reason"])
				p["reason"].MaxLength = new(toolapi.MaxDomainReason)
			}),
		describe[toolapi.SaveCredentialArgs](toolapi.ToolSaveCredential,
			"Stores what a file holds as a credential for later runs. You must not see the value: have the answer that contains it written to a "+
				"file, cut it out into a file of its own with a program, and delete both when it is stored. Never write a value into arguments or "+
				"into an answer.",
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
