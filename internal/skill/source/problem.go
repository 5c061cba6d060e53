// SPDX-License-Identifier: Apache-2.0

package source

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strconv"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/outbound"
	"motorcortex.dev/motorcortex/internal/text"
)

const (
	// maxCause is the most bytes that a message has of a foreign error, maxName of a foreign name.
	maxCause = 256
	maxName  = 256
)

// Problem is why a source has no usable skill.
type Problem struct {
	// Reason is one of SourceReady.
	Reason string
	// Message is one sentence, or two. It never has a secret.
	Message string
	// Transient is true if the reason is SourceUnavailable: the problem may go away by itself, so that a retry soon is worthwhile. The same
	// problem always has the same message.
	Transient bool
	// Cause is for the manager's log, nil if the message has everything. A user who names a source must not learn from it what answers at
	// which address near the manager.
	Cause error
}

func (p *Problem) Error() string { return p.Message }

func notFound(format string, args ...any) error {
	return &Problem{Reason: v1alpha1.ReasonSourceNotFound, Message: fmt.Sprintf(format, args...)}
}

func invalid(format string, args ...any) error {
	return &Problem{Reason: v1alpha1.ReasonSkillInvalid, Message: fmt.Sprintf(format, args...)}
}

func tooLarge(format string, args ...any) error {
	return &Problem{Reason: v1alpha1.ReasonSkillTooLarge, Message: fmt.Sprintf(format, args...)}
}

func unavailable(format string, args ...any) error {
	return &Problem{Reason: v1alpha1.ReasonSourceUnavailable, Message: fmt.Sprintf(format, args...), Transient: true}
}

// unreachable is trouble with the network. All such trouble has one message.
func unreachable(what string, err error) error {
	p := &Problem{
		Reason: v1alpha1.ReasonSourceUnavailable, Transient: true, Cause: errors.New(cause(err)),
		Message: what + " cannot be reached, or does not answer as it should. The manager's log says more.",
	}
	switch {
	case errors.Is(err, errPlain):
		p.Message = what + " is asked in vain: " + errPlain.Error() + "."
	case errors.Is(err, outbound.ErrRefused):
		p.Message = what + " has an address that the manager does not connect with: that of a node, a Pod, a Service or the like. " +
			"The administrator of the operator can allow it with --allowed-source-cidrs."
	}
	return p
}

// quoted is a foreign name, escaped for a message.
func quoted(name string) string { return strconv.Quote(text.CutBytes(name, maxName)) }

// query is the part of an address that may grant access: its query, and a user before its host.
var query = regexp.MustCompile(`\?[^\s"']*|//[^/\s"']*@`)

// cause is the innermost known cause of a network error. Addresses are omitted: that of a redirect can grant access, and that of a
// connection is another one each time.
func cause(err error) string {
	for u, ok := errors.AsType[*url.Error](err); ok; u, ok = errors.AsType[*url.Error](err) {
		err = u.Err
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = fmt.Errorf("%s: %w", op.Op, op.Err)
	}
	return text.CutBytes(text.Printable(query.ReplaceAllString(err.Error(), "")), maxCause)
}
