// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// MaxListed is how many asks a digest has with their content.
const MaxListed = 20

// Digest is the data of a signal that stands for those about many asks of a namespace.
type Digest struct {
	Namespace string
	// Count is how many asks there are, and Asks the signals of those that were gathered first: at most MaxListed.
	Count int
	Asks  []*Signal
}

// Gathering gathers asks of a namespace for one message. It keeps the content of MaxListed of them: how many are held back has no bound.
type Gathering struct {
	Namespace string

	asks  []*Signal
	count int
	sum   hash.Hash
}

// Add adds the signal of an ask.
func (g *Gathering) Add(s *Signal) {
	if g.sum == nil {
		g.sum = sha256.New()
	}
	_, _ = g.sum.Write([]byte(s.ID + "\n")) // A hash returns no error.
	if g.count++; g.count <= MaxListed {
		g.asks = append(g.asks, s)
	}
}

// Count returns how many asks were added.
func (g *Gathering) Count() int { return g.count }

// Signal returns the only ask, or the signal that stands for all of them, nil for none. Its id follows from theirs, so that the same ones are the same
// when they are sent again.
func (g *Gathering) Signal(now time.Time) *Signal {
	switch g.count {
	case 0:
		return nil
	case 1:
		return g.asks[0]
	}
	return &Signal{
		Event: v1alpha1.SignalRunAwaitingInput, ID: "digest/" + hex.EncodeToString(g.sum.Sum(nil)[:16]), Source: source(g.Namespace, "motorruns"), Time: now,
		Data: &Digest{Namespace: g.Namespace, Count: g.count, Asks: g.asks},
	}
}
