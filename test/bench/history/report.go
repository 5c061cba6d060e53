// SPDX-License-Identifier: Apache-2.0

package history

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	// restartBound is the most time without a manager that acts, whether another replica runs already or not.
	restartBound = 10 * time.Second
	// beginBound is how much longer than without finished runs a new run may take to begin.
	beginBound = 1.1
	// readBound is the most time that the plugin may take.
	readBound = time.Second
)

// Times are what was measured with one number of finished runs. They are medians.
type Times struct {
	// Restart is from the start of the manager, after the former one has ended, until a run that was there before has its sandbox Pod.
	Restart time.Duration `json:"restartNanoseconds"`
	// Takeover is from the end of the leader, which was told to end, until a new run has its sandbox Pod. Another replica has run beside it, as it does
	// where the operator is installed.
	Takeover time.Duration `json:"takeoverNanoseconds"`
	// Seen is from the start of the manager until it has nothing to do any more.
	Seen time.Duration `json:"seenNanoseconds"`
	// Begin is from the creation of a run until it has its sandbox Pod, after Seen.
	Begin time.Duration `json:"beginNanoseconds"`
	// List and Inbox are the times of the plugin's verbs as whole processes.
	List  time.Duration `json:"listNanoseconds"`
	Inbox time.Duration `json:"inboxNanoseconds"`
	// Stored is how many bytes etcd uses.
	Stored int64 `json:"storedBytes"`
}

// Report is what a measurement found.
type Report struct {
	Runs int `json:"runs"`
	// Fill is how long it took to create the runs.
	Fill   time.Duration `json:"fillNanoseconds"`
	Before Times         `json:"before"`
	After  Times         `json:"after"`
	// RunBytes is how large a run is as the API server shows it.
	RunBytes int64 `json:"runBytes"`
}

// StoredPerRun is how many bytes of etcd each run takes, after its former versions were dropped.
func (r *Report) StoredPerRun() int64 { return (r.After.Stored - r.Before.Stored) / int64(r.Runs) }

// Table returns the report for people.
func (r *Report) Table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%-44s %12s %12s  %s\n", "", "no run", fmt.Sprintf("%d runs", r.Runs), "must be at most")
	row := func(name string, before, after time.Duration, bound string) {
		fmt.Fprintf(&b, "%-44s %9d ms %9d ms  %s\n", name, before.Milliseconds(), after.Milliseconds(), bound)
	}
	row("manager started → a waiting run has its Pod", r.Before.Restart, r.After.Restart, restartBound.String())
	row("leader told to end → a new run has its Pod", r.Before.Takeover, r.After.Takeover, restartBound.String())
	row("manager started → it has seen all runs", r.Before.Seen, r.After.Seen, "")
	row("run created → it has its sandbox Pod", r.Before.Begin, r.After.Begin, "as with none + 10 %")
	row("kubectl motor list", r.Before.List, r.After.List, readBound.String())
	row("kubectl motor inbox", r.Before.Inbox, r.After.Inbox, readBound.String())
	fmt.Fprintf(&b, "%-44s %8d MiB %8d MiB\n", "etcd in use", r.Before.Stored>>20, r.After.Stored>>20)
	fmt.Fprintf(&b, "\neach run is %d bytes, and takes %d bytes of etcd\n", r.RunBytes, r.StoredPerRun())
	return b.String()
}

// Missed returns a line for each figure that is beyond its bound.
func (r *Report) Missed() (lines []string) {
	check := func(name string, got, bound time.Duration) {
		if got > bound {
			lines = append(lines, fmt.Sprintf("%s: %s, and it must be at most %s", name, got.Round(time.Millisecond), bound.Round(time.Millisecond)))
		}
	}
	check("manager started → a waiting run has its Pod", r.After.Restart, restartBound)
	check("leader told to end → a new run has its Pod", r.After.Takeover, restartBound)
	check("run created → it has its sandbox Pod", r.After.Begin, time.Duration(beginBound*float64(r.Before.Begin)))
	check("kubectl motor list", r.After.List, readBound)
	check("kubectl motor inbox", r.After.Inbox, readBound)
	return lines
}

// median returns the middle one, 0 of none.
func median(all []time.Duration) time.Duration {
	if len(all) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(all))[(len(all)-1)/2]
}
