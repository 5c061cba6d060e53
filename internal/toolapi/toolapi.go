// SPDX-License-Identifier: Apache-2.0

// Package toolapi holds the wire format between the engine and the tool server of a sandbox.
//
// Both ends speak JSON over HTTP on TLS 1.3. Every request carries the run's epoch in HeaderEpoch; the tool
// server refuses an epoch lower than the highest one it has seen, which fences off an engine that lost the run.
//
//	GET  /v1/hello              → Hello
//	PUT  /v1/calls/{id}         Call → Result   runs the call, waits for it, or repeats the stored result
//	GET  /v1/calls/{id}         → CallState     looks without any effect
//	POST /v1/calls/{id}/cancel  → CallState     kills a running call; it ends with CodeCancelled
//	PUT  /v1/files/{path...}    bytes → File    puts one input file into the workspace
//	PUT  /v1/files/{path...}?offset=N&size=N&sha256=HEX   bytes → File   puts a part of a larger one there; see Part
//	                                        below AnswersDir at any time, anywhere else before the first call
//	GET  /v1/files/{path...}    → FileContent   reads one small file of the workspace
//	POST /v1/probe              ProbeRequest → ProbeResponse
//	POST /v1/halt               → HaltResponse   ends all that runs in the sandbox, and says which connections are left
//	GET  /v1/background         → BackgroundResponse   lists what calls left in the background
//	POST /v1/background         BackgroundRequest → BackgroundResponse   ends what calls left in the background
//	PUT  /v1/egress             EgressRequest → EgressResponse   the way out, for all calls that start from now on
//	PUT  /v1/mcp                MCPRequest → MCPResponse   starts MCP servers, or connects to them, and lists their tools
//	GET  /v1/artifacts          → Artifacts     lists the files that belong to the run's result
//	GET  /v1/artifacts/{path...}?offset=N → Chunk   reads a part of one of them
//	POST /v1/changes            ChangesRequest → Changes   makes a diff of the workspace against what was given
//	POST /v1/repository         → Repository   makes what was given the first commit of a git repository
//	POST /v1/skills             → Skills        ends all that runs in the sandbox, and lists folders that may be skills
//	GET  /v1/skills/{path...}?offset=N → Chunk  reads a part of one of their files
//
// Anything but 200 carries an Error.
//
// Manager and sandbox may be of different releases: a rollout replaces managers while sandboxes run. Hello lists the features of a
// server, and a manager offers and sends nothing else. A server refuses an unknown field with ErrUnknownField, and never
// ignores it: it may be what bounds an effect. Answers are the other way round: a reader ignores unknown fields.
package toolapi

import "encoding/json"

const (
	// Port is the port of the tool server in the sandbox Pod.
	Port = 8443
	// HeaderEpoch carries the decimal epoch of the sender's claim on the run.
	HeaderEpoch = "Motor-Epoch"
	// HeaderProvenance marks an input file, with the value Web, as coming from the web.
	HeaderProvenance = "Motor-Provenance"
	// HeaderExecutable marks an input file, with the value true, as a program.
	HeaderExecutable = "Motor-Executable"

	// AnswersDir is the folder of the workspace into which the files come that people add to their answers.
	AnswersDir = "answers"

	PathHello  = "/v1/hello"
	PathCalls  = "/v1/calls/"
	PathFiles  = "/v1/files/"
	PathProbe  = "/v1/probe"
	PathEgress = "/v1/egress"
	PathMCP    = "/v1/mcp"
	// PathArtifacts is for the list; with a slash and a path after it, for one of the files.
	PathArtifacts = "/v1/artifacts"
	// PathSkills is for the list; with a slash and a path in the workspace after it, for one of the files. From the list to the next
	// call, or the next MCPRequest, no program starts in the sandbox, so that the files do not change.
	PathSkills = "/v1/skills"

	// MaxOutputBytes is the most output one Result carries; the remainder is in Result.OutputFile.
	MaxOutputBytes = 32 << 10
	// MaxBashOutputBytes is that limit for the bash tool.
	MaxBashOutputBytes = 10 << 10
	// MaxArgumentsBytes is the most that the arguments of one call may have.
	MaxArgumentsBytes = 96 << 10
	// MaxFileBytes is the most that one input file or one write may have.
	MaxFileBytes = 1 << 20
	// MaxReadBytes is the maximum size of a file that is read by GET: it is for credentials, not for documents.
	MaxReadBytes = 4096
	// OutputDir is the folder in the workspace where outputs over the limit are stored whole.
	OutputDir = ".motor/output"
	// KeptOver is the maximum size in bytes of an output that is stored in no file.
	KeptOver = 120
)

// OutputPath returns the path in the workspace of the whole text output of a call.
func OutputPath(id string) string { return OutputDir + "/" + id + ".txt" }

// Hello identifies the tool server. The client compares PodUID with the Pod that it meant to reach, because
// an address can belong to another Pod by the time it is dialed.
type Hello struct {
	PodUID string `json:"podUID"`
	// Epoch is the highest epoch seen so far, 0 if none.
	Epoch int64 `json:"epoch"`
	// Used reports whether this process has started a call, or the program of an MCP server. If it has not, nothing hostile has run since it
	// started. Its report about the sandbox's isolation can then be trusted, and a proof to a former process may not hold any more.
	Used bool `json:"used"`
	// Probed describes the last probes that this process has answered, nil if something was reached in the last one, or there was none.
	Probed *Probed `json:"probed,omitempty"`
	// Egress reports whether this process has any EgressRequest. A restarted server has none.
	Egress bool `json:"egress"`
	// MCP reports whether this process has any MCPRequest.
	MCP bool `json:"mcp,omitempty"`
	// APIVersion is the version of the format that this server speaks. See APIVersion.
	APIVersion int32 `json:"apiVersion,omitempty"`
	// Features are the parts of the format that this server knows. See Features.
	Features []string `json:"features,omitempty"`
	// Tools are the names of the tools that this server can run.
	Tools []string `json:"tools"`
	// Environment describes the sandbox beside them, nil if that is not known.
	Environment *Environment `json:"environment,omitempty"`
}

// Call asks for one tool call. Its id decides its identity: the same id is run at most once per sandbox.
type Call struct {
	ID        string          `json:"id"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	// MaxOutputBytes lowers the output limit of this call; 0 means the tool's own.
	MaxOutputBytes int32 `json:"maxOutputBytes,omitempty"`
	// IdempotencyKey names the effect of the call, "" if it needs no name. Programs get it as IDEMPOTENCY_KEY, servers as
	// Idempotency-Key. A call that succeeded under the same key is not made again: its result is returned. A call with a program in
	// the background has succeeded when that has.
	IdempotencyKey string `json:"idempotencyKey,omitempty"`
}

// MaxIdempotencyKey is the longest that an idempotency key may be.
const MaxIdempotencyKey = 128

// Result is the envelope of a tool call's result. A failing tool is a Result with OK false, never an HTTP error.
type Result struct {
	OK bool `json:"ok"`
	// Output is valid UTF-8, at most the call's output limit.
	Output string `json:"output"`
	// NoteBytes is how many bytes at the end of Output are notes: see Parts.
	NoteBytes int32  `json:"noteBytes,omitempty"`
	ErrorCode string `json:"errorCode,omitempty"`
	// Retryable is true if the same call may succeed when it is repeated.
	Retryable  bool       `json:"retryable,omitempty"`
	Provenance Provenance `json:"provenance"`
	DurationMs int64      `json:"durationMs"`
	// OutputFile is the path in the workspace of the whole output when Output is cut.
	OutputFile string `json:"outputFile,omitempty"`
	// KeptFile is OutputPath of the call if Output is whole and is stored there too, so that Output can be shortened later. The file may be gone
	// by the time of a read: the oldest files are removed for new ones.
	KeptFile string `json:"keptFile,omitempty"`
}

// Provenance is the source of data, and with that how far it can be trusted. In a sandbox with egress, the output of any
// program and the content of any file may come from there: see CarriesWeb.
type Provenance string

const (
	ProvenanceUser     Provenance = "User"
	ProvenanceWeb      Provenance = "Web"
	ProvenanceInternal Provenance = "Internal"
)

// ExitPrefix begins the error code of a program that ended with another status than 0: "exit_N".
const ExitPrefix = "exit_"

// Error codes of a Result.
const (
	CodeTimeout          = "timeout"
	CodeCancelled        = "cancelled"
	CodeNotFound         = "not_found"
	CodeIsDirectory      = "is_directory"
	CodeNotDirectory     = "not_directory"
	CodePermission       = "permission_denied"
	CodeOutsideWorkspace = "outside_workspace"
	CodeTooLarge         = "too_large"
	CodeDiskFull         = "disk_full"
	CodeNotText          = "not_text"
	CodeInvalidArguments = "invalid_arguments"
	CodeUnknownTool      = "unknown_tool"
	CodeToolNotGranted   = "tool_not_granted"
	CodeKilled           = "killed"
	CodeInternal         = "internal_error"
	// CodeDomainDenied is the result of a request for a domain that a person denied.
	CodeDomainDenied = "domain_denied"
	// CodeDomainNotAllowed is the result of a request for a domain that no person could allow.
	CodeDomainNotAllowed = "domain_not_allowed"
	// CodeCredentialRefused is the result of a credential that is not stored.
	CodeCredentialRefused = "credential_refused"
	// CodeOutcomeUnknown is the result of a call that was started and whose end was not seen.
	CodeOutcomeUnknown = "outcome_unknown"
	// CodeAlreadyDone is the result of a call that was not made, because one with the same idempotencyKey has succeeded before.
	CodeAlreadyDone = "already_done"
	// CodeStillRunning is the result of a call that was not made, because one with the same idempotencyKey still runs in the background.
	CodeStillRunning = "still_running"
	// CodeCommandNotAllowed is the result of a bash call with a command that the run may not run.
	CodeCommandNotAllowed = "command_not_allowed"
	// CodeApprovalDenied is the result of a call that a person did not approve.
	CodeApprovalDenied = "approval_denied"
	// CodeApprovalExpired is the result of a call that was not approved in time.
	CodeApprovalExpired = "approval_expired"
	// CodeSecretFound is the result of a call whose output would have contained a suspected secret.
	CodeSecretFound = "secret_found"
	// CodeNotUnique is the result of an edit whose text is in the file more than once.
	CodeNotUnique = "not_unique"
	// CodeNoMatch is the result of an edit whose text is not in the file, and of a patch that does not apply.
	CodeNoMatch = "no_match"
	// CodeNetwork is the result of a request without an answer: the connection failed, or was refused on the way.
	CodeNetwork = "network_error"
	// CodeEgressDenied is the result of a request that the egress proxy denied.
	CodeEgressDenied = "egress_denied"
	// CodeMCPChanged is the result of a call of an MCP server whose tool descriptions have changed since the beginning.
	CodeMCPChanged = "mcp_changed"
	// CodeMCPError is the result of a call that an MCP server did not carry out.
	CodeMCPError = "mcp_error"
	// CodeSkipped is the result of a call of unknown outcome that a person decided not to make again.
	CodeSkipped = "skipped"
	// CodeTooManyCalls is the result of a call beyond the limit of an answer: MaxCalls, or MaxReads if all of them only read. It was not made.
	CodeTooManyCalls = "too_many_calls"
	// CodeRepeatedCall is the result of a call that a person did not allow twice in a row, and about which they are not asked again. It was not made.
	CodeRepeatedCall = "repeated_call"
)

// AlreadyDoneText begins the output of a call that was not made, because the one named has succeeded under its idempotencyKey.
// The result of that one follows.
func AlreadyDoneText(before string) string {
	return "Not made: the call " + before + " with the same idempotencyKey succeeded before. For another effect give another idempotencyKey. It gave:\n"
}

// CallPhase is the progress of a call.
type CallPhase string

const (
	// CallAbsent: the ledger has never heard of the call, so it was never started in this sandbox.
	CallAbsent CallPhase = "Absent"
	// CallRunning: started and still running.
	CallRunning CallPhase = "Running"
	// CallFinished: ended, the result is stored.
	CallFinished CallPhase = "Finished"
	// CallUnknown: started by a former process of this tool server that ended before the call did.
	CallUnknown CallPhase = "Unknown"
)

// CallState is the ledger's entry of a call. Result is set if Phase is Finished or Unknown.
type CallState struct {
	ID     string    `json:"id"`
	Phase  CallPhase `json:"phase"`
	Result *Result   `json:"result,omitempty"`
}

// File describes an input file that was put into the workspace.
type File struct {
	Path string `json:"path"`
	Size int64  `json:"size"`
	// SHA256 is "" as long as parts of it are missing.
	SHA256 string `json:"sha256"`
}

// Error is the body of an HTTP answer other than 200.
type Error struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Codes of an Error.
const (
	// ErrStaleEpoch (409): a newer claim on the run exists; the sender must stop.
	ErrStaleEpoch = "stale_epoch"
	// ErrCallMismatch (409): the id was used before for another tool or other arguments.
	ErrCallMismatch = "call_mismatch"
	// ErrBadRequest (400): the request does not follow this format.
	ErrBadRequest = "bad_request"
	// ErrUnknownField (422): the request has a field, or is one, that this server does not know. Nothing was done. Another
	// release serves it: see Features.
	ErrUnknownField = "unknown_field"
	// ErrFileConflict (409): a call has started, and the workspace does not hold the input file with these bytes.
	ErrFileConflict = "file_conflict"
	// ErrTooLarge (413): the body, or the requested file, is over its limit.
	ErrTooLarge = "too_large"
	// ErrNotFound (404): the workspace has no such regular file.
	ErrNotFound = "not_found"
	// ErrLedgerFull (507): the ledger holds as many calls as it may; the sandbox is used up.
	ErrLedgerFull = "ledger_full"
	// ErrDiskFull (507): the volumes of the sandbox are full.
	ErrDiskFull = "disk_full"
	// ErrInternal (500): the tool server could not write its ledger or the workspace.
	ErrInternal = "internal"
)
