// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"strings"
	"sync"

	"motorcortex.dev/motorcortex/internal/text"
)

const (
	// maxModels, maxOutcomes, maxReasons, maxPools and maxResources bound the values of labels that are not closed sets. Each value costs memory in the manager and in
	// whatever reads its metrics, and users choose the names of models and pools.
	maxModels    = 32
	maxOutcomes  = 32
	maxReasons   = 128
	maxPools     = 128
	maxResources = 64
	// maxValue is the most bytes of a value.
	maxValue = 128
)

// bounded are the values of a label, or the combinations of values of a few: the first ones have a value of their own, all others share the value other.
type bounded[T comparable] struct {
	most int

	mu   sync.Mutex
	seen map[T]struct{}
}

// admits reports whether a value has one of the places.
func (b *bounded[T]) admits(value T) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.seen[value]; ok {
		return true
	}
	if len(b.seen) >= b.most {
		return false
	}
	if b.seen == nil {
		b.seen = map[T]struct{}{}
	}
	b.seen[value] = struct{}{}
	return true
}

// labels is bounded for one label whose values others choose.
type labels struct{ bounded[string] }

func newLabels(most int) *labels { return &labels{bounded[string]{most: most}} }

// of returns the value of the label for a name. Without the replacement of invalid bytes the registry would panic.
func (l *labels) of(name string) string {
	name = clean(name)
	if !l.admits(name) {
		return other
	}
	return name
}

// clean returns a name as a label can have it. It copies the name, which may be a part of something large.
func clean(name string) string {
	name = text.CutBytes(text.Printable(name), maxValue)
	if name == "" {
		return "none"
	}
	return strings.Clone(name)
}
