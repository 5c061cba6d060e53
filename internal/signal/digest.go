// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// Digest is the data of a signal that stands for those about many asks of a namespace.
type Digest struct {
	Namespace string
	// Asks are their signals, the oldest first.
	Asks []*Signal
}

// DigestOf returns the signal that stands for others about asks. Its id follows from theirs, so that the same ones are the same when they are sent again.
func DigestOf(namespace string, asks []*Signal, now time.Time) *Signal {
	sum := sha256.New()
	for _, s := range asks {
		_, _ = sum.Write([]byte(s.ID + "\n"))
	}
	return &Signal{
		Event: v1alpha1.SignalRunAwaitingInput, ID: "digest/" + hex.EncodeToString(sum.Sum(nil)[:16]), Source: source(namespace, "motorruns"), Time: now,
		Data: &Digest{Namespace: namespace, Asks: asks},
	}
}
