// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/archive"
	"motorcortex.dev/motorcortex/internal/archive/bucket"
	"motorcortex.dev/motorcortex/internal/controller/archiver"
)

// startArchiving runs the reconciler as the manager does, for one namespace, until stop is called.
func startArchiving(ctx context.Context, t *testing.T, ns, folder string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	cfg := rest.CopyConfig(adminConfig)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: managerUser, Groups: []string{"system:authenticated"}}
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{ns: {}}},
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	must(t, err)
	b, err := bucket.Open(ctx, "file://"+folder)
	must(t, err)
	r := &archiver.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Recorder: mgr.GetEventRecorder("motorcortex"), Archive: b, Now: time.Now,
	}
	must(t, r.SetupWithManager(mgr))
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the manager ended with %v", err)
		}
		_ = b.Close()
	}
}

// finishedRun is one that ended long ago, with a step.
func finishedRun(ctx context.Context, t *testing.T, ns, name string, status func(*v1alpha1.MotorRunStatus)) *v1alpha1.MotorRun {
	t.Helper()
	run := createRun(ctx, t, ns, func(r *v1alpha1.MotorRun) { r.Name = name })
	s := bareStep(ns, name+"-a01-s0001")
	s.Labels = map[string]string{v1alpha1.LabelRun: name}
	s.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(run, v1alpha1.GroupVersion.WithKind("MotorRun"))}
	must(t, manager.Create(ctx, s))
	base := run.DeepCopy()
	past := metav1.NewTime(time.Now().Add(-time.Minute).Truncate(time.Second))
	run.Status.CompletionTime = &past
	apimeta.SetStatusCondition(&run.Status.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionFinished, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonCompleted, LastTransitionTime: past,
	})
	if status != nil {
		status(&run.Status)
	}
	must(t, manager.Status().Patch(ctx, run, client.MergeFrom(base)))
	return run
}

// Runs that ended while no manager archived, runs that end now, and runs that were left half done are all found.
func TestArchiveController(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns, folder := newNamespace(ctx, t), t.TempDir()
	early := finishedRun(ctx, t, ns, "early", nil)
	stop := startArchiving(ctx, t, ns, folder)
	waitForArchive(ctx, t, early)
	late := finishedRun(ctx, t, ns, "late", nil)
	waitForArchive(ctx, t, late)
	stop()

	half := finishedRun(ctx, t, ns, "half", nil)
	head := writeArchive(ctx, t, folder, half)
	base := half.DeepCopy()
	half.Status.Archive = &v1alpha1.ArchiveStatus{Key: archive.Key(half), Steps: 1, Head: head}
	must(t, manager.Status().Patch(ctx, half, client.MergeFrom(base)))
	stop = startArchiving(ctx, t, ns, folder)
	defer stop()
	waitForArchive(ctx, t, half)
}

func waitForArchive(ctx context.Context, t *testing.T, run *v1alpha1.MotorRun) {
	t.Helper()
	err := wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		var steps v1alpha1.MotorStepList
		if err := admin.List(ctx, &steps, client.InNamespace(run.Namespace), client.MatchingLabels{v1alpha1.LabelRun: run.Name}); err != nil {
			return false, err
		}
		now := &v1alpha1.MotorRun{}
		if err := admin.Get(ctx, client.ObjectKeyFromObject(run), now); err != nil {
			return false, err
		}
		return now.Status.Archive != nil && len(steps.Items) == 0, nil
	})
	if err != nil {
		t.Fatalf("the steps of %s are not archived and gone: %v", run.Name, err)
	}
}

// writeArchive writes the archive of a run and gives its head.
func writeArchive(ctx context.Context, t *testing.T, folder string, run *v1alpha1.MotorRun) string {
	t.Helper()
	path := filepath.Join(folder, filepath.FromSlash(archive.Key(run)))
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	f, err := os.Create(path)
	must(t, err)
	defer f.Close()
	w, err := archive.NewWriter(f, run)
	must(t, err)
	var step v1alpha1.MotorStep
	must(t, admin.Get(ctx, client.ObjectKey{Namespace: run.Namespace, Name: run.Name + "-a01-s0001"}, &step))
	must(t, w.Step(&step))
	m, err := w.Close()
	must(t, err)
	return m.Head
}
