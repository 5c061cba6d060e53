// SPDX-License-Identifier: Apache-2.0

package limit

import (
	"sync"
	"testing"
	"time"
)

var hiddenStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func TestHiddenBurst(t *testing.T) {
	l := &Limiter{Rate: 10, Burst: 3, Idle: time.Hour}
	l.Allow("a", hiddenStart)
	n := 0
	for range [100]int{} {
		if l.Allow("a", hiddenStart.Add(time.Hour)) {
			n++
		}
	}
	if n != 3 {
		t.Errorf("%d at once", n)
	}
}

func TestHiddenFractions(t *testing.T) {
	l := &Limiter{Rate: 1, Burst: 1, Idle: time.Hour}
	n := 0
	for i := range [101]int{} {
		if l.Allow("a", hiddenStart.Add(time.Duration(i)*100*time.Millisecond)) {
			n++
		}
	}
	if n < 10 || n > 11 {
		t.Errorf("%d in ten seconds", n)
	}
}

func TestHiddenClients(t *testing.T) {
	l := &Limiter{Rate: 1, Burst: 1, Idle: time.Minute}
	for _, c := range []string{"a", "b", "c"} {
		if !l.Allow(c, hiddenStart) {
			t.Errorf("%s is refused", c)
		}
	}
	l.Allow("b", hiddenStart.Add(2*time.Minute))
	if n := l.Sweep(hiddenStart.Add(2 * time.Minute)); n != 2 {
		t.Errorf("%d forgotten", n)
	}
	if n := l.Sweep(hiddenStart.Add(3 * time.Minute)); n != 0 {
		t.Errorf("%d forgotten at Idle exactly", n)
	}
}

func TestHiddenConcurrent(t *testing.T) {
	l := &Limiter{Rate: 1, Burst: 5, Idle: time.Minute}
	var wg sync.WaitGroup
	var mu sync.Mutex
	n := 0
	for i := range [64]int{} {
		wg.Add(1)
		go func(i int) {
			defer wg.Done()
			l.Allow(string(rune('a'+i)), hiddenStart)
			l.Sweep(hiddenStart)
			if l.Allow("shared", hiddenStart) {
				mu.Lock()
				n++
				mu.Unlock()
			}
		}(i)
	}
	wg.Wait()
	if n != 5 {
		t.Errorf("%d of 5", n)
	}
}
