// SPDX-License-Identifier: Apache-2.0

//go:build faults

package main

import (
	"context"
	"flag"
	"log/slog"
	"net/http"
	"syscall"
	"time"

	"k8s.io/client-go/rest"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/chaos"
	"motorcortex.dev/motorcortex/internal/engine/attempt"
)

// faultFlags set what goes wrong between this manager and the API server. Without them nothing does.
var faultFlags struct {
	seed          uint64
	writeFailures float64
	watchSeconds  float64
	watchExpired  float64
	watchDelay    time.Duration
}

func bindFaults(fs *flag.FlagSet) {
	f := &faultFlags
	fs.Uint64Var(&f.seed, "fault-seed", 1, "seed of the faults")
	fs.Float64Var(&f.writeFailures, "fault-write-failures", 0, "share of API writes that fail, one half before they are sent, the other after they were carried out")
	fs.Float64Var(&f.watchSeconds, "fault-watch-seconds", 0, "how long a watch stays open, 0 as long as the server lets it")
	fs.Float64Var(&f.watchExpired, "fault-watch-expired", 0, "share of watches that are answered with 410 Gone")
	fs.DurationVar(&f.watchDelay, "fault-watch-delay", 0, "how old the manager's cache is")
}

// withFaults adds the faults of the flags between the manager and the API server.
func withFaults(cfg *rest.Config, log *slog.Logger) *rest.Config {
	f := faultFlags
	faults := chaos.New(f.seed, func(kind chaos.Kind, r *http.Request) {
		log.Info("a fault", "kind", string(kind), "method", r.Method, "path", r.URL.Path)
	})
	faults.Set(chaos.Settings{
		Unsent: f.writeFailures / 2, Unanswered: f.writeFailures / 2,
		Expired: f.watchExpired, WatchLife: time.Duration(f.watchSeconds * float64(time.Second)), WatchDelay: f.watchDelay,
	})
	cfg.Wrap(faults.Wrap)
	return cfg
}

// faultPoint ends this process at the point that a run's annotation names. Only the first worker of a run is ended, unless the annotation
// says otherwise, or the run would never get past the point.
func faultPoint() attempt.Fault {
	return func(_ context.Context, point attempt.FaultPoint, run *v1alpha1.MotorRun, step int32) {
		if !chaos.Kills(run.Annotations[chaos.KillAnnotation], string(point), step, run.Status.Execution.Epoch == 1) {
			return
		}
		// As sudden as SIGKILL, which the first process of a container does not get from itself: nothing is flushed, closed or released.
		syscall.Exit(137)
	}
}
