// SPDX-License-Identifier: Apache-2.0

package toolclient

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"unicode"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// Errors of a Client, to be compared with errors.Is. Beside them there are RemoteError and the context's own.
var (
	// ErrStaleEpoch reports that the sandbox has served a newer claim on the run: stop without any further effect.
	ErrStaleEpoch = errors.New("the sandbox serves a newer claim on the run")
	// ErrWrongPod reports that another Pod has the address.
	ErrWrongPod = errors.New("the address belongs to another Pod")
	// ErrServerKeyChanged reports that the server has another key than the one that was pinned.
	ErrServerKeyChanged = errors.New("the tool server's key has changed")
	// ErrRefused reports that the server ended the handshake, most likely because it does not know the manager's key.
	ErrRefused = errors.New("the tool server refused the connection")
	// ErrUnreachable reports that the server did not answer for as long as the configuration allows.
	ErrUnreachable = errors.New("the tool server cannot be reached")
	// ErrUnsupported reports that the server is of another release and lacks a feature that the request needs. The request was not sent, or
	// nothing was done: a new sandbox can serve it.
	ErrUnsupported = errors.New("the sandbox's tool server is of another release")
	// ErrBadAnswer reports that an answer does not follow the format.
	ErrBadAnswer = errors.New("the tool server's answer cannot be understood")
)

// RemoteError is an Error that the tool server answered. Its text comes from the sandbox.
type RemoteError struct {
	// Status is the HTTP status.
	Status int
	// Code is one of the toolapi.Err constants.
	Code    string
	Message string
}

func (e *RemoteError) Error() string {
	return fmt.Sprintf("the tool server answered %d %s: %s", e.Status, e.Code, e.Message)
}

// Is makes a RemoteError with the code of a stale epoch equal to ErrStaleEpoch, and one of a field or path that the server does
// not know equal to ErrUnsupported.
func (e *RemoteError) Is(target error) bool {
	switch target {
	case ErrStaleEpoch:
		return e.Code == toolapi.ErrStaleEpoch
	case ErrUnsupported:
		return e.Code == toolapi.ErrUnknownField
	}
	return false
}

// final reports whether the same request would fail with the same error again.
func final(err error) bool {
	if _, ok := errors.AsType[*RemoteError](err); ok {
		return true
	}
	for _, e := range []error{ErrStaleEpoch, ErrWrongPod, ErrServerKeyChanged, ErrRefused, ErrBadAnswer, ErrUnsupported} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// refused recognizes a TLS alert of the server. In TLS 1.3 the client learns that its key was refused only when it
// reads the first answer.
func refused(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "remote error"
}

// plain makes a text from the sandbox fit for messages and logs.
func plain(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "") + "…"
	}
	return text
}

// RemoteProblem returns the sandbox's error about a request. It does not return faults of the connection, another epoch of the run, and a sandbox of
// another release, which prove nothing about the subject of the request.
func RemoteProblem(err error) (*RemoteError, bool) {
	remote, ok := errors.AsType[*RemoteError](err)
	return remote, ok && !errors.Is(err, ErrStaleEpoch) && !errors.Is(err, ErrUnsupported)
}
