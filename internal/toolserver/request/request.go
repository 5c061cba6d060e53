// SPDX-License-Identifier: Apache-2.0

// Package request reads a request to the tool server, and refuses invalid ones.
package request

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// readBodyTimeout bounds how long a client may take to send the body of a request.
const readBodyTimeout = 30 * time.Second

// Refusal is an error that the client receives with its own status and code. Any other error is ErrInternal.
type Refusal struct {
	// Status is of HTTP.
	Status int
	// Code is one of toolapi's.
	Code string
	// Message has the reason and the fix, for people.
	Message string
}

// Error returns the message.
func (r *Refusal) Error() string { return r.Message }

// Refuse returns a Refusal.
func Refuse(status int, code, message string) *Refusal {
	return &Refusal{Status: status, Code: code, Message: message}
}

// Bad returns the Refusal of a request that cannot be meant.
func Bad(format string, args ...any) error {
	return Refuse(http.StatusBadRequest, toolapi.ErrBadRequest, fmt.Sprintf(format, args...))
}

// Request is an HTTP request whose epoch was let in.
type Request struct {
	*http.Request
	// Epoch is of the claim that the client has on the run.
	Epoch int64
	// Fenced is closed when a newer epoch comes.
	Fenced <-chan struct{}
	// Control is of the connection, for deadlines.
	Control *http.ResponseController
}

// Content reads the request's body, at most limit bytes of it.
func (r *Request) Content(limit int64) ([]byte, error) {
	if err := r.Control.SetReadDeadline(time.Now().Add(readBodyTimeout)); err != nil {
		return nil, fmt.Errorf("limit the time to read a request: %w", err)
	}
	content, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	if err != nil {
		return nil, Bad("the request's body cannot be read: %v", err)
	}
	if int64(len(content)) > limit {
		return nil, Refuse(http.StatusRequestEntityTooLarge, toolapi.ErrTooLarge,
			fmt.Sprintf("the request's body may have %d bytes", limit))
	}
	// The deadline would otherwise end the connection of a client that waits long for its call.
	if err := r.Control.SetReadDeadline(time.Time{}); err != nil {
		return nil, fmt.Errorf("lift the limit of the time to read a request: %w", err)
	}
	return content, nil
}

// Unreadable returns the Refusal of a request that is no JSON of its kind. A field that is not known has a code of its own: the request may be a good
// one of another release.
func Unreadable(what string, err error) error {
	if IsUnknownField(err) {
		return Refuse(http.StatusUnprocessableEntity, toolapi.ErrUnknownField,
			fmt.Sprintf("%s has what this tool server does not know: %s", what, strings.TrimPrefix(err.Error(), "json: ")))
	}
	return Bad("%s cannot be read: %v", what, err)
}

// IsUnknownField recognises an error of encoding/json that has no type. It quotes the name of the field and no value.
func IsUnknownField(err error) bool {
	return err != nil && strings.HasPrefix(err.Error(), "json: unknown field ")
}
