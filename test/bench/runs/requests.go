// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/test/bench/figures"
	"motorcortex.dev/motorcortex/test/bench/runs/manager"
)

const (
	// quietRuns is how many runs wait when their requests are counted.
	quietRuns = 500
	// quietAfter is how long they have waited then. A run that is younger looks again sooner: its pause is a tenth of its age, and at most a minute.
	quietAfter = 10 * time.Minute
)

// wholeRuns measures row 9: the requests of the managers for a whole run of five steps, cold and from a pool. The egress proxy and the sandbox
// make none for a run without a way out.
func (b *bench) wholeRuns(ctx context.Context) ([]Row, error) {
	ctx, cancel := context.WithTimeout(ctx, crowdPatience)
	defer cancel()
	var cold, warm []manager.Counts
	for i := range b.rounds {
		counts, err := b.wholeRun(ctx, fmt.Sprintf("%s-cold-%d", b.prefix, i))
		if err != nil {
			return nil, err
		}
		cold = append(cold, counts)
	}
	rows := requestRows("cold", cold, 12)
	if b.burst == 0 {
		return rows, nil
	}
	if err := b.fill(ctx, 2); err != nil {
		return nil, err
	}
	for i := range b.rounds {
		counts, err := b.wholeRun(ctx, fmt.Sprintf("%s-warm-%d", b.prefix, i), inPool)
		if err != nil {
			return nil, err
		}
		warm = append(warm, counts)
	}
	return append(rows, requestRows("warm, with the pool's refill", warm, 8)...), b.fill(ctx, 0)
}

// requestRows returns the median writes and reads of runs.
func requestRows(how string, all []manager.Counts, writes float64) []Row {
	var w, r []float64
	for _, c := range all {
		w, r = append(w, float64(c.Writes())), append(r, float64(c.Reads()))
	}
	detail := "without watches and Leases"
	if len(all) > 0 {
		detail = "one of them: " + all[0].String()
	}
	return []Row{
		{Number: 9, Name: "writes beyond steps, 5-step run, " + how, Value: figures.Quantile(w, 0.5), Unit: unitRequests, Bound: writes, Detail: detail},
		{Number: 9, Name: "reads, 5-step run, " + how, Value: figures.Quantile(r, 0.5), Unit: unitRequests, Bound: 10},
	}
}

// wholeRun returns the requests from before the creation of a run until its sandbox is gone.
func (b *bench) wholeRun(ctx context.Context, name string, change ...func(*v1alpha1.MotorRun)) (manager.Counts, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := wait(ctx, settled); err != nil {
		return nil, err
	}
	before, err := b.managers.Requests(ctx)
	if err != nil {
		return nil, err
	}
	run, _, err := b.create(ctx, name, "bench-five", change...)
	if err != nil {
		return nil, err
	}
	if _, err := b.seen.await(ctx, name, Finished); err != nil {
		return nil, err
	}
	if err := b.awaitNoPods(ctx); err != nil {
		return nil, err
	}
	if err := wait(ctx, settled); err != nil {
		return nil, err
	}
	after, err := b.managers.Requests(ctx)
	if err != nil {
		return nil, err
	}
	return after.Since(before), b.remove(ctx, run)
}

// quiet measures row 10 with the runs that cost most while they wait: they have a credential whose Secret is not there.
func (b *bench) quiet(ctx context.Context) ([]Row, error) {
	ctx, cancel := context.WithTimeout(ctx, quietAfter+crowdPatience)
	defer cancel()
	if err := b.clear(ctx); err != nil {
		return nil, err
	}
	none, err := b.requestsIn(ctx, b.crowded.quiet)
	if err != nil {
		return nil, err
	}
	if err := b.createCrowd(ctx, "quiet", quietRuns, withoutSecret); err != nil {
		return nil, err
	}
	if _, err := b.awaitCrowd(ctx, "quiet", quietRuns, waitsFor(v1alpha1.ReasonCredentialSecretNotFound)); err != nil {
		return nil, err
	}
	if err := wait(ctx, quietAfter); err != nil {
		return nil, err
	}
	all, err := b.requestsIn(ctx, b.crowded.quiet)
	if err != nil {
		return nil, err
	}
	// Runs that have ended meanwhile would make no request.
	if _, err := b.awaitCrowd(ctx, "quiet", quietRuns, waitsFor(v1alpha1.ReasonCredentialSecretNotFound)); err != nil {
		return nil, fmt.Errorf("after %s: %w", quietAfter, err)
	}
	more := all.Since(none)
	return []Row{{Number: 10, Name: fmt.Sprintf("requests a minute of %d runs that wait for a Secret", quietRuns), Value: tenth(float64(more.All()) / b.crowded.quiet.Minutes()), Unit: unitRequests, Bound: 10,
		Detail: fmt.Sprintf("in %s, more than in the same time without runs (%s): %s", b.crowded.quiet, none, more)}}, b.clearCrowd(ctx, "quiet")
}

// requestsIn returns the requests of the managers in the next time.
func (b *bench) requestsIn(ctx context.Context, length time.Duration) (manager.Counts, error) {
	before, err := b.managers.Requests(ctx)
	if err != nil {
		return nil, err
	}
	if err := wait(ctx, length); err != nil {
		return nil, err
	}
	after, err := b.managers.Requests(ctx)
	return after.Since(before), err
}

// withoutSecret gives a run a credential whose Secret does not exist.
func withoutSecret(run *v1alpha1.MotorRun) {
	run.Spec.Domains = []v1alpha1.Domain{"api.example.org"}
	run.Spec.Credentials = []v1alpha1.Credential{{
		Name: "bench_key", SecretRef: v1alpha1.SecretKeyRef{Name: "bench-is-not-there", Key: "value"}, Hosts: []v1alpha1.Domain{"api.example.org"},
	}}
}
