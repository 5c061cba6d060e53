// SPDX-License-Identifier: Apache-2.0

package redacting

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"motorcortex.dev/motorcortex/internal/egress/grant"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/secret/redact"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// Names under which values are hidden that are no credentials of the run. No credential can have them: theirs have no dash.
const (
	ModelKeyName    = "model-api-key"
	SearchKeyName   = "search-api-key"
	egressTokenName = "egress-token"
)

// Secrets are the values that a loop knows and that must not be in any object, log line or request to a model. Further ones may
// be added at any time. None is ever removed, because a text with a value that was replaced since may still come back.
type Secrets struct {
	mu       sync.Mutex
	known    []redact.Secret
	redactor *redact.Redactor
	// values finds those that are secret: a handle is hidden but is not secret.
	values *redact.Redactor
	open   map[string]bool
}

// Format hides the values when a Secrets is printed.
func (*Secrets) Format(s fmt.State, _ rune) { _, _ = s.Write([]byte("[hidden]")) }

// Add registers a value under a name. It ignores values that are too short to be distinguished from ordinary text.
func (s *Secrets) Add(name string, value []byte) {
	if len(value) < redact.MinLength {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(s.known, func(k redact.Secret) bool { return bytes.Equal(k.Value, value) }) {
		return
	}
	s.known = append(s.known, redact.Secret{Name: name, Value: bytes.Clone(value)})
	s.redactor = redact.New(s.known...)
	s.values = redact.New(slices.DeleteFunc(slices.Clone(s.known), func(k redact.Secret) bool { return s.open[string(k.Value)] })...)
}

// addHandle registers the stand-in of a credential. It is not secret, but the model knows the credential by its name alone.
func (s *Secrets) addHandle(name, handle string) {
	s.mu.Lock()
	if s.open == nil {
		s.open = map[string]bool{}
	}
	s.open[handle] = true
	s.mu.Unlock()
	s.Add(name, []byte(handle))
}

// Contains reports whether there is a secret value in a text.
func (s *Secrets) Contains(text []byte) bool {
	s.mu.Lock()
	values := s.values
	s.mu.Unlock()
	return !bytes.Equal(values.Bytes(text), text)
}

// AddCredential registers the value of a credential, and the parts of it that are printed alone: those of user:password,
// and the lines of a key.
func (s *Secrets) AddCredential(name, slot string, value []byte) {
	value = bytes.TrimRight(value, "\r\n")
	for _, part := range redact.Parts(slot, value) {
		s.Add(name, part)
	}
	for line := range bytes.Lines(value) {
		if line = bytes.TrimSpace(line); len(line) >= minLine && !bytes.HasPrefix(line, []byte("-----")) {
			s.Add(name, line)
		}
	}
}

// minLine is how long a line of a value must be to count as unique to it.
const minLine = 16

// AddGrant registers the values in the grant of a sandbox, and the sandbox's token.
func (s *Secrets) AddGrant(g *grant.Grant, token string) {
	s.Add(egressTokenName, []byte(token))
	for _, c := range g.Credentials {
		s.AddCredential(c.Name, c.Slot, c.Value.Reveal())
		s.addHandle(c.Name, c.Handle)
	}
}

func (s *Secrets) current() *redact.Redactor {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.redactor
}

// Hide replaces every value in a text with <credential:NAME>.
func (s *Secrets) Hide(text string) string { return s.current().String(text) }

// hideBroken is hide for a text that was cut off at its end, where a value may be incomplete: the end is removed in any case.
func (s *Secrets) hideBroken(text string) string { return s.current().Cut(text, false, true) }

// cutOut matches where the tool server omitted a part of an output.
var cutOut = regexp.MustCompile(`\n… [0-9]+ bytes left out[^\n]{0,900} …\n`)

// hideCut is hide for a text with possible omissions in its middle. A value may be incomplete at each gap, so
// the text next to the gap is removed. A program in the sandbox can print a false gap. It removes some of its own output by
// that and learns nothing: the size of the removed text does not depend on its content.
func (s *Secrets) hideCut(text string) string {
	r := s.current()
	if r == nil {
		return text
	}
	var b strings.Builder
	from, after := 0, false
	for _, gap := range cutOut.FindAllStringIndex(text, -1) {
		b.WriteString(r.Cut(text[from:gap[0]], after, true))
		b.WriteString(r.String(text[gap[0]:gap[1]]))
		from, after = gap[1], true
	}
	if !after {
		return r.String(text)
	}
	b.WriteString(r.Cut(text[from:], true, false))
	return b.String()
}

// HideResult hides the values in a tool's result. The sandbox wrote all of it: a code or a file name that contains a value is
// removed.
func (s *Secrets) HideResult(r toolapi.Result) toolapi.Result {
	data, notes := r.Parts()
	r.SetParts(s.hideCut(data), s.Hide(notes))
	if s.Hide(r.ErrorCode) != r.ErrorCode {
		r.ErrorCode = toolapi.CodeInternal
	}
	if s.Hide(r.OutputFile) != r.OutputFile {
		r.OutputFile = ""
	}
	if s.Hide(r.KeptFile) != r.KeptFile {
		r.KeptFile = ""
	}
	return r
}

// HideFailure returns a copy whose message has no value in it.
func (s *Secrets) HideFailure(f *outcome.Failure) *outcome.Failure {
	if f == nil {
		return nil
	}
	hidden := *f
	hidden.Message = s.Hide(f.Message)
	return &hidden
}

// HideError returns an error that is err to errors.Is and errors.As, and whose text has no value in it.
func (s *Secrets) HideError(err error) error {
	if err == nil {
		return nil
	}
	if long, ok := errors.AsType[*chat.TooLong](err); ok {
		return &chat.TooLong{Failure: s.HideFailure(long.Failure), Usage: long.Usage}
	}
	if o, ok := errors.AsType[*chat.Outage](err); ok {
		hidden := *o
		hidden.Message = s.Hide(o.Message)
		return &hidden
	}
	if f, ok := errors.AsType[*outcome.Failure](err); ok {
		return s.HideFailure(f)
	}
	if text := err.Error(); s.Hide(text) != text {
		return &redactedError{text: s.Hide(text), err: err}
	}
	return err
}

// redactedError is an error with another text.
type redactedError struct {
	text string
	err  error
}

func (e *redactedError) Error() string { return e.text }
func (e *redactedError) Unwrap() error { return e.err }
