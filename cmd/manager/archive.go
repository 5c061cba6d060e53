// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"motorcortex.dev/motorcortex/internal/archive"
	"motorcortex.dev/motorcortex/internal/archive/bucket"
	"motorcortex.dev/motorcortex/internal/controller/archiver"
	"motorcortex.dev/motorcortex/internal/timekeeper"
)

// bucketCheck bounds how long the manager's start waits for a bucket that does not answer.
const bucketCheck = 10 * time.Second

// setupArchive has the steps of finished runs archived if a bucket is configured. It returns the bucket, nil if there is none.
func setupArchive(ctx context.Context, mgr ctrl.Manager, clock *timekeeper.Clock, url string, log *slog.Logger) (*bucket.Bucket, error) {
	if url == "" {
		return nil, nil
	}
	b, err := openBucket(ctx, url, log)
	if err != nil {
		return nil, fmt.Errorf("--archive-bucket: %w", err)
	}
	reconciler := &archiver.Reconciler{
		Client:   mgr.GetClient(),
		Live:     mgr.GetAPIReader(),
		Recorder: mgr.GetEventRecorder("motorcortex"),
		Archive:  b,
		Now:      clock.Now,
	}
	if err := reconciler.SetupWithManager(mgr); err != nil {
		return nil, fmt.Errorf("set up the archive's controller: %w", err)
	}
	return b, nil
}

// openBucket returns an error if the configuration is wrong. A bucket that cannot be reached now does not prevent the start: runs do not need it,
// and their steps wait.
func openBucket(ctx context.Context, url string, log *slog.Logger) (*bucket.Bucket, error) {
	b, err := bucket.Open(ctx, url)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, bucketCheck)
	defer cancel()
	err = b.Check(ctx)
	if errors.Is(err, archive.ErrNotFound) {
		return nil, errors.Join(err, b.Close())
	}
	if err != nil {
		log.Warn("the archive's bucket cannot be listed; runs are archived when it can be written", "error", err)
	}
	return b, nil
}

// unarchived counts the runs that were deleted before their steps were archived.
func unarchived() prometheus.Counter {
	c := newUnarchived()
	metrics.Registry.MustRegister(c)
	return c
}

func newUnarchived() prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{
		Name: "motorcortex_runs_deleted_unarchived_total",
		Help: "Finished runs that were deleted with their steps before these were in the archive.",
	})
}
