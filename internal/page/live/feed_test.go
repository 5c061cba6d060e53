// SPDX-License-Identifier: Apache-2.0

package live

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A window that sleeps is told that anything may have changed, and keeps no list of what did.
func TestAWindowThatDoesNotReadKeepsNoList(t *testing.T) {
	t.Parallel()
	s := &Subscription{pending: map[Change]bool{}, wake: make(chan struct{}, 1)}
	f := &feed{pages: map[*Subscription]bool{}, trouble: map[string]string{}}
	f.add(s)
	s.take()
	for i := range 10 * maxPending {
		f.tell(Change{Kind: KindRun, Namespace: "ns", Name: fmt.Sprint(i % (2 * maxPending))})
		if len(s.pending) > maxPending {
			t.Fatalf("%d changes are kept", len(s.pending))
		}
	}
	f.stands("MotorStep", "no")
	f.stands("MotorStep", "still no")
	want := []Change{{Kind: KindAll}, {Kind: KindTrouble, Name: "MotorStep", Text: "still no"}}
	if diff := cmp.Diff(want, s.take()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	f.tell(Change{Kind: KindRun, Name: "a"})
	f.tell(Change{Kind: KindRun, Name: "a"})
	if diff := cmp.Diff([]Change{{Kind: KindRun, Name: "a"}}, s.take()); diff != "" {
		t.Errorf("the same twice (-want +got):\n%s", diff)
	}
}
