// SPDX-License-Identifier: Apache-2.0

package stopwatch

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestWaitsAreNotCounted(t *testing.T) {
	t.Parallel()
	second := func(n int) { <-time.After(time.Duration(n) * time.Second) }
	for name, tt := range map[string]struct {
		do   func(*Stopwatch)
		want time.Duration
	}{
		"no wait":  {func(*Stopwatch) { second(3) }, 3 * time.Second},
		"one wait": {func(s *Stopwatch) { second(1); end := s.Wait(); second(10); end(); second(2) }, 3 * time.Second},
		"two in a row": {func(s *Stopwatch) {
			a := s.Wait()
			second(1)
			a()
			second(1)
			b := s.Wait()
			second(1)
			b()
		}, time.Second},
		"two that meet": {func(s *Stopwatch) {
			a := s.Wait()
			second(1)
			b := s.Wait()
			second(1)
			a()
			second(1)
			b()
			second(1)
		}, time.Second},
		"ended twice": {func(s *Stopwatch) {
			a := s.Wait()
			b := s.Wait()
			a()
			a()
			second(5)
			b()
			second(1)
		}, time.Second},
		"not ended yet": {func(s *Stopwatch) { second(1); s.Wait(); second(5) }, time.Second},
		"all of it":     {func(s *Stopwatch) { defer s.Wait()(); second(5) }, 0},
		"begun before": {func(s *Stopwatch) {
			end := s.Wait()
			second(5)
			s.Lap()
			second(5)
			end()
			second(1)
		}, time.Second},
		"nothing at all": {func(*Stopwatch) {}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var s Stopwatch
				if own, ok := s.Lap(); ok || own != 0 {
					t.Errorf("the first lap is %s", own)
				}
				tt.do(&s)
				if own, ok := s.Lap(); !ok || own != tt.want {
					t.Errorf("the lap is %s, want %s", own, tt.want)
				}
			})
		})
	}
}
