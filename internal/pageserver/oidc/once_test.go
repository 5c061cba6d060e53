// SPDX-License-Identifier: Apache-2.0

package oidc

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

// A name is taken once, no name is forgotten before its time, and those whose time is over make room.
func TestOnce(t *testing.T) {
	t.Parallel()
	var o once
	now := time.Unix(1000, 0)
	for i := range maxOnce {
		until := now.Add(time.Hour)
		if i == 1 {
			until = now.Add(time.Minute)
		}
		if first, err := o.take(fmt.Sprint(i), now, until); !first || err != nil {
			t.Fatalf("%d: %v, %v", i, first, err)
		}
	}
	if first, err := o.take("0", now, now.Add(time.Hour)); first || err != nil {
		t.Errorf("once more: %v, %v", first, err)
	}
	if first, err := o.take("more", now, now.Add(time.Hour)); first || !errors.Is(err, errOnceFull) {
		t.Errorf("one more: %v, %v", first, err)
	}
	now = now.Add(time.Minute)
	if first, err := o.take("more", now, now.Add(time.Hour)); !first || err != nil || o.taken("1") || !o.taken("0") || !o.taken("more") {
		t.Errorf("one more later: %v, %v", first, err)
	}
}
