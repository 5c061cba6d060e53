// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"motorcortex.dev/motorcortex/internal/jsonbound"
)

// The bytes between the values of a line.
const (
	beforeSeq    = `{"seq":`
	beforePrev   = `,"prev":"`
	beforeKind   = `","kind":"`
	beforeObject = `","object":`
	beforeDigest = `,"digest":"`
	lineEnd      = `"}`
)

// line is one link of the chain.
type line struct {
	seq    int
	prev   string
	kind   string
	object []byte
	digest string
}

// appendLine writes a link and returns its digest.
func appendLine(b []byte, seq int, prev, kind string, object []byte) (_ []byte, digest string) {
	start := len(b)
	b = fmt.Appendf(b, `%s%d%s%s%s%s%s`, beforeSeq, seq, beforePrev, prev, beforeKind, kind, beforeObject)
	b = append(b, object...)
	digest = digestOf(b[start:])
	b = fmt.Appendf(b, "%s%s%s\n", beforeDigest, digest, lineEnd)
	return b, digest
}

// parseLine splits a line, without its line feed, and checks the digest in it. It reads exactly the form that appendLine writes: a line
// with the same meaning in another spelling is invalid.
func parseLine(b []byte) (line, error) {
	var l line
	tail := len(b) - len(beforeDigest) - digestLength - len(lineEnd)
	if tail < 0 {
		return l, errNoLine
	}
	body, rest := b[:tail], string(b[tail:])
	l.digest = strings.TrimSuffix(strings.TrimPrefix(rest, beforeDigest), lineEnd)
	if rest != beforeDigest+l.digest+lineEnd || !IsDigest(l.digest) {
		return l, errNoLine
	}
	if digestOf(body) != l.digest {
		return l, errChanged
	}
	seq, body, ok := between(body, beforeSeq, beforePrev, 8)
	if !ok {
		return l, errNoLine
	}
	n, err := strconv.Atoi(seq)
	if err != nil || strconv.Itoa(n) != seq {
		return l, errNoLine
	}
	l.seq = n
	if l.prev, body, ok = between(body, "", beforeKind, digestLength); !ok || !IsDigest(l.prev) {
		return l, errNoLine
	}
	if l.kind, body, ok = between(body, "", beforeObject, 16); !ok {
		return l, errNoLine
	}
	if len(body) == 0 || body[0] != '{' {
		return l, errNoLine
	}
	l.object = body
	return l, nil
}

// between returns the text after one text and before another, at most that long, and the bytes after it.
func between(b []byte, before, after string, most int) (value string, rest []byte, ok bool) {
	b, ok = bytes.CutPrefix(b, []byte(before))
	if !ok {
		return "", nil, false
	}
	at := bytes.Index(b[:min(len(b), most+len(after))], []byte(after))
	if at < 0 {
		return "", nil, false
	}
	return string(b[:at]), b[at+len(after):], true
}

type lineError string

func (e lineError) Error() string { return string(e) }

const (
	errNoLine  = lineError("it is not written as the lines of an archive are: it was changed or put here")
	errChanged = lineError("its content does not have the digest that it carries: it was changed")
)

// heading has the fields of the objects that a reader checks.
type heading struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name            string `json:"name"`
		Namespace       string `json:"namespace"`
		UID             string `json:"uid"`
		OwnerReferences []struct {
			UID string `json:"uid"`
		} `json:"ownerReferences"`
	} `json:"metadata"`
	Spec struct {
		Attempt int32 `json:"attempt"`
		Index   int32 `json:"index"`
	} `json:"spec"`
}

// maxName is how long a name of Kubernetes can be.
const maxName = 253

// named reports whether there is a name, and no part is longer than the limit of Kubernetes. The names of all steps are held in memory
// until the chain ends, and the author of the file must not decide how much that is.
func (h *heading) named() bool {
	m := h.Metadata
	return m.Name != "" && max(len(m.Name), len(m.Namespace), len(m.UID)) <= maxName
}

// objectLimits are those of a line. Objects of the API server are far below them.
var objectLimits = jsonbound.Limits{Depth: 128, Values: 128 << 10}

// decode reads a line, or the object in it. Its author can be any client that can write to the bucket.
func decode(b []byte, into any) error {
	if err := jsonbound.Check(b, objectLimits); err != nil {
		return err
	}
	return json.Unmarshal(b, into)
}

// guess determines, from a line that does not hold, what the line is about.
func guess(b []byte) (kind, name string) {
	var l struct {
		Kind   string  `json:"kind"`
		Object heading `json:"object"`
	}
	if decode(b, &l) != nil {
		return "", ""
	}
	return printable(l.Kind), printable(l.Object.Metadata.Name)
}

// printable makes a name from a file fit for a terminal.
func printable(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, s)
	return s[:min(len(s), maxName)]
}
