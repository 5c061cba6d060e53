// SPDX-License-Identifier: Apache-2.0

package ids

import (
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// Context is where the spans of a run belong.
type Context struct {
	// Trace is the id of the trace, 32 hexadecimal digits.
	Trace string
	// Parent is the id of the span that the run is a part of, 16 hexadecimal digits, "" if there is none.
	Parent string
	// Sampled is false if the caller does not record the trace.
	Sampled bool
}

// Of returns the context of a run by its UID and annotations: that of its caller, if the annotation has one, and else a trace of its own. An annotation
// that is not valid counts as none, as the W3C Trace Context asks.
func Of(uid types.UID, annotations map[string]string) Context {
	if c, ok := ParseParent(annotations[v1alpha1.AnnotationTraceParent]); ok {
		return c
	}
	return Context{Trace: Trace(uid), Sampled: true}
}

// ParseParent parses a traceparent of the W3C Trace Context, version 00 or a later one that begins like it.
func ParseParent(text string) (Context, bool) {
	const length = 2 + 1 + 32 + 1 + 16 + 1 + 2
	if len(text) < length || text[:3] == "00-" && len(text) != length || len(text) > length && text[length] != '-' {
		return Context{}, false
	}
	parts := strings.Split(text[:length], "-")
	if len(parts) != 4 {
		return Context{}, false
	}
	version, trace, parent, flags := parts[0], parts[1], parts[2], parts[3]
	if version == "ff" || !valid(version, 2) || !valid(trace, 32) || !valid(parent, 16) || !valid(flags, 2) ||
		strings.Trim(trace, "0") == "" || strings.Trim(parent, "0") == "" {
		return Context{}, false
	}
	bits, _ := hex.DecodeString(flags)
	return Context{Trace: trace, Parent: parent, Sampled: bits[0]&1 == 1}, true
}

// valid reports whether a text is that many lower-case hexadecimal digits.
func valid(text string, digits int) bool {
	return len(text) == digits && strings.Trim(text, "0123456789abcdef") == ""
}
