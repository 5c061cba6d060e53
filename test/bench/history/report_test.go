// SPDX-License-Identifier: Apache-2.0

package history

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestEachFigureHasItsBound(t *testing.T) {
	t.Parallel()
	good := Times{Restart: 10 * time.Second, Takeover: 10 * time.Second, Begin: 22 * time.Millisecond, List: time.Second, Inbox: time.Second, Stored: 9000}
	for name, tt := range map[string]struct {
		change func(*Times)
		want   string
	}{
		"none":     {func(*Times) {}, ""},
		"restart":  {func(t *Times) { t.Restart += time.Millisecond }, "manager started → a waiting run has its Pod: 10.001s"},
		"takeover": {func(t *Times) { t.Takeover += time.Millisecond }, "leader told to end → a new run has its Pod: 10.001s"},
		"begin":    {func(t *Times) { t.Begin += time.Millisecond }, "run created → it has its sandbox Pod: 23ms, and it must be at most 22ms"},
		"list":     {func(t *Times) { t.List *= 2 }, "kubectl motor list: 2s"},
		"inbox":    {func(t *Times) { t.Inbox *= 2 }, "kubectl motor inbox: 2s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &Report{Runs: 4, Before: Times{Begin: 20 * time.Millisecond, Stored: 1000}, After: good}
			tt.change(&r.After)
			missed := strings.Join(r.Missed(), "\n")
			if (tt.want == "") != (missed == "") || !strings.HasPrefix(missed, tt.want) {
				t.Errorf("missed %q, want %q", missed, tt.want)
			}
		})
	}
}

func TestARunTakesWhatItAddsToEtcd(t *testing.T) {
	t.Parallel()
	r := &Report{Runs: 4, Before: Times{Stored: 1000}, After: Times{Stored: 9000}, RunBytes: 1500}
	if got := r.StoredPerRun(); got != 2000 {
		t.Errorf("%d bytes", got)
	}
	if table := r.Table(); !strings.Contains(table, "each run is 1500 bytes, and takes 2000 bytes of etcd") {
		t.Error(table)
	}
}

func TestMedian(t *testing.T) {
	t.Parallel()
	list := []time.Duration{5, 1, 3, 2}
	if got := median(list); got != 2 || !slices.Equal(list, []time.Duration{5, 1, 3, 2}) || median(nil) != 0 {
		t.Errorf("%d of %v", got, list)
	}
}
