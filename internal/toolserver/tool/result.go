// SPDX-License-Identifier: Apache-2.0

//go:build linux

package tool

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// Failure is the envelope of a tool that failed. The text has the event, its position, and the fix; the model reads nothing else. All of it
// is a note: it must not have text of a host or a server, see ForeignFailure.
func Failure(code, format string, args ...any) toolapi.Result {
	r := ForeignFailure(code, format, args...)
	r.SetParts("", r.Output)
	return r
}

// Noted is the envelope of a tool that succeeded, with notes.
func Noted(data, notes string) toolapi.Result {
	r := Success("")
	r.SetParts(data, notes)
	return r
}

// ForeignFailure is failure for a text that has words of a remote end in it.
func ForeignFailure(code, format string, args ...any) toolapi.Result {
	return toolapi.Result{ErrorCode: code, Output: fmt.Sprintf(format, args...), Provenance: toolapi.ProvenanceInternal}
}

// Success is the envelope of a tool that succeeded.
func Success(output string) toolapi.Result {
	return toolapi.Result{OK: true, Output: output, Provenance: toolapi.ProvenanceInternal}
}

// Successf is Success for a text that is made by fmt.Sprintf.
func Successf(format string, args ...any) toolapi.Result {
	return Success(fmt.Sprintf(format, args...))
}

// Interrupted is the envelope of a call whose context ended; when describes how far it had come.
func Interrupted(ctx context.Context, when string) toolapi.Result {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, ErrHalted):
		return Failure(toolapi.CodeCancelled, "The call was cancelled %s: %s.", when, HaltedText)
	case errors.As(cause, new(*DiskFullError)):
		return Failure(toolapi.CodeDiskFull, "The call was ended %s: %s%s.", when, DiskFullEnded, cause)
	case errors.Is(cause, ErrCancelled):
		return Failure(toolapi.CodeCancelled, "The call was cancelled %s.", when)
	case errors.Is(cause, context.DeadlineExceeded):
		r := Failure(toolapi.CodeTimeout, "The call took too long and was ended %s. Do less at once.", when)
		r.Retryable = true
		return r
	default:
		return Failure(toolapi.CodeKilled, "The tool server was stopped, which ended the call %s.", when)
	}
}

// Decode reads the arguments of a tool; usage names them for the model that got them wrong.
func Decode(args []byte, into any, usage string) *toolapi.Result {
	err := DecodeStrictly(args, into)
	if err == nil {
		return nil
	}
	r := Failure(toolapi.CodeInvalidArguments, "The arguments do not fit: %s. They are %s.", strings.TrimPrefix(err.Error(), "json: "), usage)
	return &r
}
