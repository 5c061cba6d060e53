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
		if first, err := o.take("dana", fmt.Sprint(i), now, until); !first || err != nil {
			t.Fatalf("%d: %v, %v", i, first, err)
		}
	}
	if first, err := o.take("dana", "0", now, now.Add(time.Hour)); first || err != nil {
		t.Errorf("once more: %v, %v", first, err)
	}
	if first, err := o.take("dana", "more", now, now.Add(time.Hour)); first || !errors.Is(err, errOnceFull) {
		t.Errorf("one more: %v, %v", first, err)
	}
	now = now.Add(time.Minute)
	if first, err := o.take("dana", "more", now, now.Add(time.Hour)); !first || err != nil || o.taken("1") || !o.taken("0") || !o.taken("more") {
		t.Errorf("one more later: %v, %v", first, err)
	}
}

// One person does not take the room of others, and has room again when their names mean nothing any more.
func TestOnceHasABoundForEachPerson(t *testing.T) {
	t.Parallel()
	o := once{of: 2}
	now := time.Unix(1000, 0)
	for _, name := range []string{"1", "2"} {
		if first, err := o.take("dana", name, now, now.Add(time.Minute)); !first || err != nil {
			t.Fatalf("%s: %v, %v", name, first, err)
		}
	}
	if first, err := o.take("dana", "3", now, now.Add(time.Hour)); first || !errors.Is(err, errOnceOften) {
		t.Errorf("one more: %v, %v", first, err)
	}
	if first, err := o.take("eve", "3", now, now.Add(time.Hour)); !first || err != nil {
		t.Errorf("another person: %v, %v", first, err)
	}
	now = now.Add(time.Minute)
	if first, err := o.take("dana", "4", now, now.Add(time.Hour)); !first || err != nil || o.taken("1") || len(o.names) != 2 || o.held["dana"] != 1 {
		t.Errorf("later: %v, %v, %v", first, err, o.names)
	}
}
