// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"strings"
	"sync"
	"time"

	"motorcortex.dev/motorcortex/internal/text"
)

const (
	// maxModels, maxOutcomes, maxReasons, maxPools, maxBodies and maxResources bound the values of labels that are not closed sets. Each value costs memory in the manager and in
	// whatever reads its metrics, and users choose the names of models and pools.
	maxModels   = 32
	maxOutcomes = 32
	// Four currencies have values of their own.
	maxCurrencies = 4
	maxReasons    = 128
	maxPools      = 128
	maxBodies     = 128
	maxResources  = 64
	// maxValue is the most bytes of a value.
	maxValue = 128
)

// unusedFor is for how long a value keeps its place without being used. Otherwise a user who chooses many values once would have all places until the
// process ends.
const unusedFor = time.Hour

// bounded are the values of a label, or the combinations of values of a few: the first ones have a value of their own, all others share the value other.
type bounded[T comparable] struct {
	most int
	// now is nil if places are never free again.
	now func() time.Time
	// freed is told of a value that loses its place; it may be nil.
	freed func(T)

	mu sync.Mutex
	// seen has when each value was last used.
	seen map[T]time.Time
}

// always is the time of values that keep their places.
var always = time.Unix(1<<40, 0)

// reserve takes a place for a value for good.
func (b *bounded[T]) reserve(value T) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seen = map[T]time.Time{value: always}
}

// admits reports whether a value has one of the places, and gives it one that is free.
func (b *bounded[T]) admits(value T) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.uses(value) {
		return true
	}
	if len(b.seen) >= b.most && !b.free() {
		return false
	}
	if b.seen == nil {
		b.seen = map[T]time.Time{}
	}
	b.seen[value] = b.time()
	return true
}

// has reports whether a value has one of the places.
func (b *bounded[T]) has(value T) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.uses(value)
}

func (b *bounded[T]) uses(value T) bool {
	last, ok := b.seen[value]
	if now := b.time(); ok && now.After(last) {
		b.seen[value] = now
	}
	return ok
}

// free frees the place that was unused the longest, if that is long enough.
func (b *bounded[T]) free() bool {
	if b.now == nil {
		return false
	}
	var value T
	oldest := always
	for v, last := range b.seen {
		if last.Before(oldest) {
			value, oldest = v, last
		}
	}
	if b.time().Sub(oldest) < unusedFor {
		return false
	}
	delete(b.seen, value)
	if b.freed != nil {
		b.freed(value)
	}
	return true
}

func (b *bounded[T]) time() time.Time {
	if b.now == nil {
		return time.Time{}
	}
	return b.now()
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
