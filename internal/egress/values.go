// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"bytes"
	"slices"
	"sync"

	"motorcortex.dev/motorcortex/internal/egress/grant"
	"motorcortex.dev/motorcortex/internal/secret/redact"
)

const (
	// maxFormer and maxFormerBytes bound the values that are remembered of earlier grants of a run. The latest stay.
	maxFormer      = 64
	maxFormerBytes = 1 << 20
)

// values are those of a run's credentials, with their former values: a host may still show a value that it was sent before a rotation. They
// do not change. A Redactor has many times the size of its values, so all connections of the run share one. The first connection that needs
// it makes it, and it stays the same while grants are only renewed.
type values struct {
	// now are those of the grant, former those before.
	now, former []redact.Secret
	redactor    func() *redact.Redactor
}

// valuesOf returns the values of a grant, and of pairs the parts.
func valuesOf(g *grant.Grant) []redact.Secret {
	var whole, parts []redact.Secret
	for _, c := range g.Credentials {
		for i, part := range redact.Parts(c.Slot, c.Value.Reveal()) {
			// A host does not get the blanks around a header.
			s := redact.Secret{Name: c.Name, Value: bytes.TrimSpace(part)}
			if i == 0 {
				whole = append(whole, s)
			} else {
				parts = append(parts, s)
			}
		}
	}
	// If a text is one credential's whole value and a part of another's, the redaction names the first one.
	return append(whole, parts...)
}

// with returns the values of the next grant. They are the same if it has the same. v may be nil.
func (v *values) with(now []redact.Secret) *values {
	next := &values{now: now}
	if v != nil {
		if slices.EqualFunc(v.now, now, equalSecrets) {
			return v
		}
		next.former = former(now, slices.Concat(v.now, v.former))
	}
	next.redactor = sync.OnceValue(func() *redact.Redactor { return redact.New(slices.Concat(next.now, next.former)...) })
	return next
}

// former returns those of the earlier values, the latest first, that are not among those of now.
func former(now, earlier []redact.Secret) []redact.Secret {
	var kept []redact.Secret
	size := 0
	for _, s := range earlier {
		has := func(other redact.Secret) bool { return bytes.Equal(other.Value, s.Value) }
		if len(s.Value) < redact.MinLength || slices.ContainsFunc(now, has) || slices.ContainsFunc(kept, has) {
			continue
		}
		if len(kept) == maxFormer || size+len(s.Value) > maxFormerBytes {
			break
		}
		size += len(s.Value)
		kept = append(kept, s)
	}
	return kept
}

func equalSecrets(a, b redact.Secret) bool { return a.Name == b.Name && bytes.Equal(a.Value, b.Value) }
