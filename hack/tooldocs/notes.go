// SPDX-License-Identifier: Apache-2.0

package main

import (
	"motorcortex.dev/motorcortex/internal/engine/attempt"
	"motorcortex.dev/motorcortex/internal/motorloop/result"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// note is what the schema of a tool cannot say.
type note struct {
	// Short is for the table of contents.
	Short  string
	Limits string
	// Errors are codes of toolapi.
	Errors []string
	// More is further facts, an item each.
	More []string
	// Example is arguments that fit the schema.
	Example string
}

// file has the errors of everything that uses a path.
func file(more ...string) []string {
	return append([]string{toolapi.CodeNotFound, toolapi.CodeOutsideWorkspace, toolapi.CodePermission, toolapi.CodeInvalidArguments}, more...)
}

func notes() map[string]note {
	return map[string]note{
		toolapi.ToolBash: {
			Short:  "commands",
			Limits: "60 s, at most 300 s; 10 KiB of output shown; 8 processes in the background",
			Errors: []string{"exit_N", toolapi.CodeTimeout, toolapi.CodeKilled, toolapi.CodeDiskFull, toolapi.CodeCommandNotAllowed, toolapi.CodeApprovalDenied, toolapi.CodeApprovalExpired, toolapi.CodeOutcomeUnknown, toolapi.CodeAlreadyDone, toolapi.CodeStillRunning},
			More: []string{
				"The environment has PATH, HOME, the variables of the way out and of the run's credentials (handles), and nothing of the Pod's.",
				"The status of a pipeline is that of its last command, as in every shell.",
			},
			Example: `{"command": "npm test 2>&1 | tail -40", "timeoutSeconds": 120}`,
		},
		toolapi.ToolCode: {
			Short:  "programs in JavaScript or Python",
			Limits: "30 s, at most 300 s; 32 KiB of output shown",
			Errors: []string{"exit_N", toolapi.CodeTimeout, toolapi.CodeKilled, toolapi.CodeDiskFull, toolapi.CodeInvalidArguments},
			More: []string{
				"The output of the program comes first, then a line [value] and the value of its last expression.",
				"Modules of the workspace can be imported.",
			},
			Example: `{"language": "python", "source": "import statistics\nstatistics.mean([1, 2, 4])"}`,
		},
		toolapi.ToolRead: {
			Short:   "files",
			Limits:  "32 KiB shown; the result says how to read on",
			Errors:  file(toolapi.CodeIsDirectory, toolapi.CodeNotText),
			Example: `{"path": "src/main.py", "offset": 100, "limit": 50}`,
		},
		toolapi.ToolWrite: {
			Short:  "new files",
			Limits: "96 KiB of arguments a call; more with append",
			Errors: file(toolapi.CodeIsDirectory, toolapi.CodeNotDirectory, toolapi.CodeTooLarge, toolapi.CodeDiskFull),
			More: []string{
				"A file has its old or its new content at any time.",
			},
			Example: `{"path": "notes/result.md", "content": "# Result\n"}`,
		},
		toolapi.ToolEdit: {
			Short:  "exact replacements",
			Limits: "files of at most 1 MiB, UTF-8",
			Errors: file(toolapi.CodeIsDirectory, toolapi.CodeNotDirectory, toolapi.CodeNoMatch, toolapi.CodeNotUnique, toolapi.CodeNotText, toolapi.CodeTooLarge, toolapi.CodeDiskFull),
			More: []string{
				"The texts get the line ends of the file, if those are all alike.",
			},
			Example: `{"path": "src/main.py", "oldText": "return a - b", "newText": "return a + b"}`,
		},
		toolapi.ToolPatch: {
			Short:  "patches",
			Limits: "256 files of at most 1 MiB, 16 MiB together, UTF-8; no binary patches, modes, or symbolic links",
			Errors: file(toolapi.CodeIsDirectory, toolapi.CodeNotDirectory, toolapi.CodeNoMatch, toolapi.CodeNotText, toolapi.CodeTooLarge, toolapi.CodeDiskFull),
			More: []string{
				"A hunk that does not fit at its line is looked for elsewhere in the file, and applied if only one part fits.",
				"The counts in its header may be wrong, and `@@` or `@@ class or function @@` is a header, too.",
				"The format of `*** Begin Patch` is that of Codex CLI's apply_patch, but a hunk must fit one part only, and a file is not moved onto another.",
				"Files that a patch renames or copies into each other are changed together.",
				"The result is an error if a file is not changed. It names the files that are, and says for each of the others why not.",
				"A tool server that is killed in the middle leaves an unknown outcome, and files of which only some are changed.",
			},
			Example: `{"patch": "--- a/main.py\n+++ b/main.py\n@@ -1 +1 @@\n-print(1)\n+print(2)\n"}`,
		},
		toolapi.ToolList: {
			Short:  "content of a folder",
			Limits: "32 KiB shown",
			Errors: file(toolapi.CodeNotDirectory),
			More: []string{
				"Of the workspace itself .git and .motor are left out.",
			},
			Example: `{"path": "src", "recursive": true}`,
		},
		toolapi.ToolGlob: {
			Short:  "files by name",
			Limits: "1000 paths, 100,000 entries looked at, 30 s; the result says if there is more",
			Errors: file(toolapi.CodeNotDirectory),
			More: []string{
				"Symbolic links are not followed. .git and .motor are left out unless the pattern names them.",
			},
			Example: `{"pattern": "src/**/*.{ts,tsx}"}`,
		},
		toolapi.ToolGrep: {
			Short:  "files by content",
			Limits: "60 s; 32 KiB shown; lines are cut at 400 bytes",
			Errors: file(toolapi.CodeTimeout, toolapi.CodeKilled),
			More: []string{
				"No match is not an error.",
			},
			Example: `{"pattern": "func Test\\w+", "glob": "*.go", "context": 2}`,
		},
		toolapi.ToolFetch: {
			Short:  "one HTTP request",
			Limits: "30 s, at most 120 s; 10 redirects; 16 MiB of response, of which what fits is shown; 4 MiB of request; addresses of 8 KiB",
			Errors: []string{"http_STATUS", toolapi.CodeEgressDenied, toolapi.CodeNetwork, toolapi.CodeTimeout, toolapi.CodeSecretFound, toolapi.CodeTooLarge, toolapi.CodeInvalidArguments, toolapi.CodeOutcomeUnknown, toolapi.CodeAlreadyDone, toolapi.CodeApprovalDenied, toolapi.CodeApprovalExpired},
			More: []string{
				"It goes through the egress proxy: only allowed hosts answer, and a credential's handle is exchanged there.",
				"A redirect to another host gets only the plainest headers. A request that does more than read is not sent where a redirect points.",
			},
			Example: `{"url": "https://api.example.org/v1/items", "method": "POST", "headers": {"Content-Type": "application/json"}, "body": "{\"name\": \"a\"}"}`,
		},
		toolapi.ToolSearchWeb: {
			Short:  "a web search",
			Limits: "15 s; 20 results; a query of 400 characters",
			Errors: []string{attempt.CodeSearchFailed, toolapi.CodeNetwork, toolapi.CodeInvalidArguments},
			More: []string{
				"It is offered only where the namespace's MotorCortex has spec.search: a SearXNG instance whose settings allow the format json, or Brave with an API key.",
				"The manager asks it, not the sandbox.",
			},
			Example: `{"query": "unified diff format", "limit": 5}`,
		},
		toolapi.ToolSaveArtifact: {
			Short:  "files that are part of the result",
			Limits: "a file of 1 MiB and 5 MiB a run without a bucket, 64 MiB and 256 MiB with one; 32 files; further ones are listed as skipped, or counted",
			Errors: file(toolapi.CodeSecretFound, toolapi.CodeTooLarge),
			More: []string{
				"Artifacts are collected at the end and whenever the run waits for a person. status.result.artifacts lists them with size, media type, sha256 and location.",
				"A file that is not kept is listed with the reason.",
				"workspace.diff is not taken at the top of the workspace: under that name the changes are kept, see [spec.keep](api.md#what-changed).",
			},
			Example: `{"path": "build/report.pdf"}`,
		},
		toolapi.ToolAskUser: {
			Short:  "a question for the person",
			Limits: "4096 characters, 10 options",
			Errors: []string{toolapi.CodeInvalidArguments},
			More: []string{
				"The run waits for spec.limits.inputDeadlineSeconds (1800) at most.",
				"The result says whether the reply is one of the options, and has it word for word.",
				"Without a reply in time the run fails. With spec.questions.onTimeout: UseDefault the default counts instead, and the result says so.",
			},
			Example: `{"question": "ACME has no price. Use the last known one?", "options": ["yes", "no"], "default": "yes"}`,
		},
		toolapi.ToolFinish: {
			Short:  "the end of the task",
			Limits: "a summary of 16384 characters, 32 files, a value of 8 KiB; three calls whose claims or checks do not hold; 2 KiB of the output of each check",
			Errors: []string{result.CodeNotFinished, result.CodeNotAccepted, toolapi.CodeInvalidArguments},
			More: []string{
				"It is always offered. Other calls of the same answer are made first, and all must succeed.",
				"The first Succeeded of an attempt that called no tool is refused once, where tools are granted and the task demands nothing: it may be false, or the task needs no tool.",
				"The files that it names must be in the workspace. So must those below artifacts/ that the summary of Succeeded names, in quotes or as a word with an extension.",
				"With Succeeded everything must hold that spec.accept and the policy of the skill demand: files, then the value (an argument that is offered where there is a schema), then the commands, which are a step of their own. The result of the call has what does not hold.",
				"In a run that may write skills, the result also has, once or twice, what prevents keeping those in the workspace, and a SKILL.md at the wrong path. An attempt is never lost for that.",
				"Partial and Failed need none of this, and end the attempt without success: a person may retry it.",
			},
			Example: `{"status": "Succeeded", "summary": "The report is in report.md; the total is 4,711.20.", "files": ["report.md"]}`,
		},
		toolapi.ToolRequestApproval: {
			Short:  "permission for a doubtful action",
			Limits: "4096 characters; spec.limits.approvalDeadlineSeconds (900)",
			Errors: []string{toolapi.CodeApprovalDenied, toolapi.CodeApprovalExpired},
			More: []string{
				"It is the model's wish. The calls that spec.approval names are asked about in any case.",
			},
			Example: `{"action": "Delete the branch old-experiments on the server", "reason": "it has commits that are nowhere else"}`,
		},
		toolapi.ToolRequestDomain: {
			Short:  "permission to reach a host",
			Limits: "one host a call; within what the namespace's MotorCortex allows",
			Errors: []string{toolapi.CodeDomainDenied, toolapi.CodeDomainNotAllowed, toolapi.CodeInvalidArguments},
			More: []string{
				"See [domains](../guides/domains.md#decide-about-a-domain).",
			},
			Example: `{"domain": "files.example.org", "reason": "the dataset that the task names is there"}`,
		},
		toolapi.ToolSaveCredential: {
			Short:  "a credential that was found, as a Secret",
			Limits: "4096 bytes; 32 a run",
			Errors: []string{toolapi.CodeCredentialRefused, toolapi.CodeNotFound, toolapi.CodeInvalidArguments},
			More: []string{
				"The value goes from a file to a Secret without passing the model. See [credentials](../guides/credentials.md#keep-a-credential-that-a-run-obtained).",
			},
			Example: `{"name": "api_key", "path": "key.txt", "hosts": ["api.example.org"]}`,
		},
	}
}
