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
	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/redact"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// Names under which what is no credential of the run is hidden. No credential can have them: theirs have no dash.
const (
	ModelKeyName    = "model-api-key"
	SearchKeyName   = "search-api-key"
	egressTokenName = "egress-token"
)

// Secrets are the values that a loop knows and that may be in no object, log line or request to a model. Further ones may
// be added at any time; none is ever forgotten, because what held a value that was replaced since may still come back.
type Secrets struct {
	mu       sync.Mutex
	known    []redact.Secret
	redactor *redact.Redactor
	// values finds those that are secret: a handle is hidden and may be seen by anybody.
	values *redact.Redactor
	open   map[string]bool
}

// Format hides the values from whoever prints them.
func (*Secrets) Format(s fmt.State, _ rune) { _, _ = s.Write([]byte("[hidden]")) }

// Add makes a value known under a name. Values too short to be told from ordinary text are left out.
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

// addHandle makes known what stands for a credential. It is not secret, but the model knows the credential by its name alone.
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

// AddCredential makes the value of a credential known, and the parts of it that are printed alone: those of user:password,
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

// minLine is how long a line of a value must be to be one that nobody else prints.
const minLine = 16

// AddGrant makes known what the grant of a sandbox holds, and the sandbox's token.
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

// Hide puts <credential:NAME> for every value in a text.
func (s *Secrets) Hide(text string) string { return s.current().String(text) }

// hideBroken is hide for a text that was cut off at its end, where a value may be broken: what is there goes, whatever it is.
func (s *Secrets) hideBroken(text string) string { return s.current().Cut(text, false, true) }

// cutOut is where the tool server left something out of an output.
var cutOut = regexp.MustCompile(`\n… [0-9]+ bytes left out[^\n]{0,900} …\n`)

// hideCut is hide for a text of which something may have been left out in its middle. At each gap a value may be broken, so
// what is next to it goes. A program in the sandbox can print what looks like a gap. It takes away some of its own output by
// that and learns nothing: how much goes does not depend on what is there.
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

// HideResult hides the values in what a tool gave. The sandbox wrote all of it: a code or a file name that is a value is
// none.
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
func (s *Secrets) HideFailure(f *motorloop.Failure) *motorloop.Failure {
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
	if long, ok := errors.AsType[*motorloop.TooLong](err); ok {
		return &motorloop.TooLong{Failure: s.HideFailure(long.Failure), Usage: long.Usage}
	}
	if o, ok := errors.AsType[*motorloop.Outage](err); ok {
		hidden := *o
		hidden.Message = s.Hide(o.Message)
		return &hidden
	}
	if f, ok := errors.AsType[*motorloop.Failure](err); ok {
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
