// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"strconv"
	"testing"
	"time"
)

func gathered(asks ...*Signal) *Signal {
	g := Gathering{Namespace: "ns"}
	for _, s := range asks {
		g.Add(s)
	}
	return g.Signal(time.Unix(int64(len(asks)), 0))
}

func TestADigestOfTheSameAsksHasTheSameID(t *testing.T) {
	t.Parallel()
	a, b, c := &Signal{ID: "a"}, &Signal{ID: "b"}, &Signal{ID: "c"}
	one, again := gathered(a, b), gathered(a, b)
	if one.ID != again.ID || one.ID == gathered(a, c).ID || one.ID == gathered(b, a).ID || one.ID == gathered(a, b, c).ID {
		t.Errorf("got %q and %q", one.ID, again.ID)
	}
	if gathered(a) != a || gathered() != nil {
		t.Error("one ask is a digest, or none is a message")
	}
}

// The number of asks that are held back has no bound, and the memory for their content has one.
func TestADigestHasTheContentOfAFewAsks(t *testing.T) {
	t.Parallel()
	var asks []*Signal
	for i := range 1000 {
		asks = append(asks, &Signal{ID: strconv.Itoa(i)})
	}
	d := gathered(asks...).Data.(*Digest)
	if d.Count != 1000 || len(d.Asks) != MaxListed || d.Asks[0] != asks[0] || d.Asks[MaxListed-1] != asks[MaxListed-1] {
		t.Errorf("it has %d of %d asks", len(d.Asks), d.Count)
	}
	// What is not listed counts for the id, too.
	last := gathered(append(asks[:999:999], &Signal{ID: "other"})...)
	if last.ID == gathered(asks...).ID {
		t.Error("other asks have the same id")
	}
}
