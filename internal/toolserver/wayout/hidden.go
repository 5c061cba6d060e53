// SPDX-License-Identifier: Apache-2.0

//go:build linux

package wayout

import (
	"bytes"
	"strings"

	"motorcortex.dev/motorcortex/internal/secret/redact"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// minHiddenLine is how long a line of a value must be to be one that nothing else prints.
const minHiddenLine = 16

// Hiding is the redactor of the values that programs received, and of those that stand for credentials.
func (e *Egress) Hiding() *redact.Redactor {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.hidden
}

// hide makes the redactor for the values that a request passes to programs. The names are those that the run has for its credentials.
func hide(req toolapi.EgressRequest) *redact.Redactor {
	secrets := []redact.Secret{{Name: "egress-token", Value: []byte(req.Token)}}
	for name, value := range req.Environment {
		name, value = strings.ToLower(name), strings.TrimRight(value, "\r\n")
		// A program may print the password of user:password alone.
		for _, part := range redact.Parts(redact.SlotBasic, []byte(value)) {
			secrets = append(secrets, redact.Secret{Name: name, Value: part})
		}
		for line := range strings.Lines(value) {
			if line = strings.TrimSpace(line); len(line) >= minHiddenLine && !strings.HasPrefix(line, "-----") {
				secrets = append(secrets, redact.Secret{Name: name, Value: []byte(line)})
			}
		}
	}
	return redact.New(secrets...)
}

// Holds reports whether a text has a value that programs received.
func (e *Egress) Holds(text []byte) bool {
	e.mu.Lock()
	hidden := e.hidden
	e.mu.Unlock()
	return hidden != nil && !bytes.Equal(hidden.Bytes(text), text)
}
