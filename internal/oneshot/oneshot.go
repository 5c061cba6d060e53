// SPDX-License-Identifier: Apache-2.0

// Package oneshot decides about the code of a Oneshot run: how long it may take, whether it is refused
// before it runs, and its outcome. It is pure.
package oneshot

import (
	"encoding/json"
	"fmt"
	"strings"

	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

const (
	// defaultTimeoutMs and defaultNetworkMs are how long the code may take if the run sets no timeout, in milliseconds.
	defaultTimeoutMs = 5000
	defaultNetworkMs = 30000

	// MaxValueBytes is the maximum size of a result as JSON, and MaxQuotedBytes that of the same as a JSON string. A step and the
	// status of a run allow the same size.
	MaxValueBytes  = toolapi.MaxOutputBytes
	MaxQuotedBytes = 64 << 10
	// maxMessage is the most of an error message, in bytes and as a JSON string.
	maxMessage = 2 << 10
	// maxDurationMs is more than any code may take.
	maxDurationMs = 60_000
)

// Timeout returns the time limit of the code for the requested one, in milliseconds; 0 requests none. Admission has refused
// values out of bounds.
func Timeout(timeoutMs int32, network bool) int32 {
	switch {
	case timeoutMs != 0:
		return timeoutMs
	case network:
		return defaultNetworkMs
	}
	return defaultTimeoutMs
}

// Arguments writes the arguments of the call that runs the code.
func Arguments(a toolapi.OneshotArgs) string { return text.JSON(a) }

// Refuse returns the result of code that is not run at all, nil if it may run. network is true if the run has domains.
func Refuse(a toolapi.OneshotArgs, network bool) *toolapi.Result {
	if n := quotedLen(Arguments(a)); n > toolapi.MaxArgumentsBytes {
		return blocked(fmt.Sprintf("the code is too long: it takes %d bytes in the record of the run, which has room for %d", n, toolapi.MaxArgumentsBytes))
	}
	if found := Guard(a.Language, a.Source, network); found != "" {
		return blocked(found)
	}
	return nil
}

func blocked(message string) *toolapi.Result {
	return &toolapi.Result{
		ErrorCode: toolapi.CodeExecutionBlocked, Provenance: toolapi.ProvenanceInternal,
		Output: text.JSON(failed(toolapi.ExecutionBlocked, message)),
	}
}

// Clean makes the sandbox's result of the code fit to be recorded. The sandbox is hostile: it may return anything as a
// result. An unknown outcome stays unknown, and code that was interrupted from outside has an unknown outcome.
func Clean(r toolapi.Result) toolapi.Result {
	switch {
	case r.OK:
	case r.ErrorCode == toolapi.CodeKilled, r.ErrorCode == toolapi.CodeCancelled:
		return toolapi.Result{ErrorCode: toolapi.CodeOutcomeUnknown, Provenance: toolapi.ProvenanceInternal}
	case r.ErrorCode == toolapi.CodeOutcomeUnknown:
		return r
	}
	o := parse(r.OK, r.ErrorCode, r.Output)
	r.OK, r.ErrorCode, r.Retryable, r.OutputFile = o.OK, "", false, ""
	if o.Error != nil {
		r.ErrorCode = resultCode(o.Error.Code)
	}
	r.Output, _ = fit(o)
	return r
}

// Outcome is the outcome of the code.
type Outcome struct {
	// Code is "" if the code ended by itself, else one of the codes of a toolapi.OneshotError, with the details in Message.
	Code, Message string
	// Value is a toolapi.OneshotResult as JSON. If that is too long, first the console is omitted, and then the value is cut
	// to its beginning.
	Value string
	// Cut is true if the value is cut.
	Cut bool
}

// Read returns the outcome of a recorded result. It returns the same for a result whose output is the Value of an Outcome.
func Read(ok bool, errorCode, output string) Outcome {
	o := parse(ok, errorCode, output)
	var read Outcome
	read.Value, read.Cut = fit(o)
	if o.Error != nil {
		read.Code, read.Message = o.Error.Code, o.Error.Message
	}
	return read
}

// parse reads any result, valid or not.
func parse(ok bool, errorCode, output string) toolapi.OneshotResult {
	var o toolapi.OneshotResult
	err := json.Unmarshal([]byte(strings.ToValidUTF8(output, "\uFFFD")), &o)
	switch {
	case errorCode == toolapi.CodeOutcomeUnknown && err != nil:
		return failed(toolapi.ExecutionError, "The sandbox's tool server ended while the code ran, and its outcome is unknown. "+
			"The code may need more memory than the sandbox has. Code with domains may have done its work, and is not run again by itself.")
	case err != nil:
		return failed(executionCode(errorCode), "The sandbox could not run the code: "+firstLine(output))
	case o.OK != ok || o.OK != (o.Error == nil):
		return failed(toolapi.ExecutionError, "The sandbox says both that the code ended and that it did not.")
	case o.OK:
		o.Head, o.DurationMs = text.CutBytes(o.Head, toolapi.MaxOneshotHead), min(max(o.DurationMs, 0), maxDurationMs)
		return o
	}
	o.Head, o.DurationMs = "", min(max(o.DurationMs, 0), maxDurationMs)
	o.Error = &toolapi.OneshotError{Code: executionCode(errorCode), Message: printable(o.Error.Message)}
	return o
}

func failed(code, message string) toolapi.OneshotResult {
	return toolapi.OneshotResult{Error: &toolapi.OneshotError{Code: code, Message: printable(message)}}
}

// executionCode maps the code of a Result to that of a OneshotError, resultCode the other way round.
func executionCode(errorCode string) string {
	switch errorCode {
	case toolapi.CodeExecutionTimeout:
		return toolapi.ExecutionTimeout
	case toolapi.CodeExecutionBlocked:
		return toolapi.ExecutionBlocked
	}
	return toolapi.ExecutionError
}

func resultCode(executionCode string) string {
	switch executionCode {
	case toolapi.ExecutionTimeout:
		return toolapi.CodeExecutionTimeout
	case toolapi.ExecutionBlocked:
		return toolapi.CodeExecutionBlocked
	}
	return toolapi.CodeExecutionError
}

// fit encodes a result as JSON, and omits what does not fit. It retains the beginning of the value.
func fit(o toolapi.OneshotResult) (value string, cut bool) {
	s := text.JSON(o)
	if !Fits(s) && o.Console != "" {
		o.Console, o.Truncated = "", true
		s = text.JSON(o)
	}
	if !Fits(s) {
		if o.Head == "" {
			o.Head = string(o.Value)
		}
		o.Value, o.Head, o.Truncated = nil, text.CutBytes(o.Head, toolapi.MaxOneshotHead), true
		s = text.JSON(o)
	}
	return s, o.Head != ""
}

// Fits reports whether the JSON of a result fits into a step and into a status.
func Fits(s string) bool { return len(s) <= MaxValueBytes && quotedLen(s) <= MaxQuotedBytes }

// quotedLen returns how many bytes a text takes as a JSON string, quotes not counted.
func quotedLen(s string) int {
	b, err := json.Marshal(s)
	if err != nil {
		// Every string has a JSON form.
		panic(err)
	}
	return len(b) - len(`""`)
}

// printable makes an error message fit to be shown on a terminal, and bounds it.
func printable(s string) string {
	s = text.Printable(s)
	if quotedLen(s) <= maxMessage {
		return s
	}
	end, size := 0, len("…")
	for i, c := range s {
		n := quotedLen(string(c))
		if size += n; size > maxMessage {
			break
		}
		end = i + len(string(c))
	}
	return s[:end] + "…"
}

// firstLine returns the beginning of a text in one line.
func firstLine(s string) string {
	const size = 300
	r := []rune(strings.Join(strings.Fields(s[:min(len(s), 4*size)]), " "))
	return string(r[:min(len(r), size)])
}
