// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/internal/selftest"
)

const (
	// selfTestPause lies between two tries of the self-test at the start, selfTestPeriod between two tests afterwards.
	selfTestPause  = 5 * time.Second
	selfTestPeriod = 5 * time.Minute
	// selfTestTimeout bounds each. It has three requests for each served namespace.
	selfTestTimeout = 30 * time.Second
)

// selfTest returns what admission allows and must not. The client must read and write past any cache; the namespaces are those in which the manager
// may create Pods.
func selfTest(ctx context.Context, c client.Client, namespaces []string) error {
	ctx, cancel := context.WithTimeout(ctx, selfTestTimeout)
	defer cancel()
	return selftest.Admission(ctx, c, namespaces...)
}

// tellUnmarked logs what an API server without mutating admission policies does not do for the installation. That is no failure: the versions
// before Kubernetes 1.36 have none.
func tellUnmarked(mapper meta.RESTMapper, log *slog.Logger) {
	switch marks, err := selftest.MarksRuns(mapper); {
	case err != nil:
		log.Warn("it cannot be told whether copies of runs are known", "error", err)
	case !marks:
		log.Warn("copies of runs are not known: the API server has no MutatingAdmissionPolicy of version v1 (Kubernetes 1.36), so that a run which is " +
			"restored from a backup is carried out again; create such runs with spec.suspend")
	}
}

// selfTestNamespaces returns namespaces in which the manager may create Pods: the served ones, or its own if it serves all.
func (o *options) selfTestNamespaces() []string {
	if len(o.namespaces) > 0 {
		return o.namespaces
	}
	return []string{o.namespace}
}

// awaitAdmission waits until the self-test passes. A manager that ended instead would
// make a fresh installation crash, in which the policies are a moment behind the Deployment.
func awaitAdmission(ctx context.Context, test func(context.Context) error, pause time.Duration, healthAddress string, log *slog.Logger) error {
	return awaitSuccess(ctx, test, pause, healthAddress, func(err error) {
		log.Error("no run is carried out before the self-test passes", "error", err)
	})
}

// all combines several tests into one, which reports everything that is wrong.
func all(tests ...func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		var errs []error
		for _, test := range tests {
			errs = append(errs, test(ctx))
		}
		return errors.Join(errs...)
	}
}

// isCertain reports whether a test found for certain that the manager must not go on.
func isCertain(err error) bool {
	return errors.Is(err, selftest.ErrUnprotected) || errors.Is(err, selftest.ErrOldSchema)
}

// selfTestWatch repeats the self-test while the manager runs: the policies can be removed meanwhile, and older CustomResourceDefinitions can
// replace its own. It ends the manager when a test fails for certain twice in a row: the next process waits, not ready, until the cluster is
// mended. One failure is not enough, because a policy may be just replaced. An API server that is away is no reason at all.
type selfTestWatch struct {
	test   func(context.Context) error
	period time.Duration
	// after is time.After, but for tests.
	after func(time.Duration) <-chan time.Time
	log   *slog.Logger
}

// NeedLeaderElection returns false: every replica repeats the self-test, because the others carry out runs, too.
func (*selfTestWatch) NeedLeaderElection() bool { return false }

// Start tests until ctx ends. It returns an error if the cluster does not protect the runs.
func (w *selfTestWatch) Start(ctx context.Context) error {
	failed := false
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			continue
		case <-w.after(w.period):
		}
		err := w.test(ctx)
		switch {
		case ctx.Err() != nil:
			// A test that was cut short shows nothing.
		case err == nil:
			failed = false
		case !isCertain(err):
			// This neither confirms nor clears the result of an earlier test.
			w.log.Warn("the self-test gave no definite answer", "error", err)
		case failed:
			return fmt.Errorf("the self-test failed twice, no run is carried on before it passes: %w", err)
		default:
			failed = true
			w.log.Error("the self-test failed; the manager ends if it does so again", "error", err, "again", w.period)
		}
	}
	return nil
}
