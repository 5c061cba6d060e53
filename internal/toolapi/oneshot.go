// SPDX-License-Identifier: Apache-2.0

package toolapi

import "encoding/json"

// MaxOneshotBytes is the most that value and console of a OneshotResult have together, as JSON.
const MaxOneshotBytes = 32 << 10

// MaxOneshotHead is the most bytes of OneshotResult.Head.
const MaxOneshotHead = 4 << 10

// OneshotArgs are the arguments of a call of ToolOneshot.
type OneshotArgs struct {
	Language string `json:"language"`
	Source   string `json:"source"`
	// TimeoutMs is 100 to 5000, of ToolOneshotNetwork 100 to 30000.
	TimeoutMs int32 `json:"timeoutMs"`
}

// OneshotResult is the Output of a call of ToolOneshot, whose Result is OK if this is.
type OneshotResult struct {
	OK bool `json:"ok"`
	// Value is the return value of the program, or that of its last expression; unset if it has none.
	Value json.RawMessage `json:"value,omitempty"`
	// Head is the beginning of the JSON of a value that is too long to be Value.
	Head string `json:"head,omitempty"`
	// DurationMs is how long the program ran.
	DurationMs int64 `json:"durationMs,omitempty"`
	// Console is the output of the program.
	Console string `json:"console,omitempty"`
	// Truncated is true if value or console is cut.
	Truncated bool          `json:"truncated,omitempty"`
	Error     *OneshotError `json:"error,omitempty"`
}

// OneshotError is why there is no value.
type OneshotError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Codes of a OneshotError.
const (
	ExecutionTimeout = "EXECUTION_TIMEOUT"
	ExecutionError   = "EXECUTION_ERROR"
	ExecutionBlocked = "EXECUTION_BLOCKED"
)

// Codes of the Result of a call of ToolOneshot.
const (
	CodeExecutionTimeout = "execution_timeout"
	CodeExecutionError   = "execution_error"
	CodeExecutionBlocked = "execution_blocked"
)
