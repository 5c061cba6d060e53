// SPDX-License-Identifier: Apache-2.0

//go:build e2e && archive

package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/wait"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/archive"
)

// The tests named TestArchive… run with a bucket in an S3 server on the cluster: `make test-archive`. They change what all managers
// do, so they are not parallel.

const (
	// archiveWait is how long the managers of these tests keep a finished run that is not archived, if they need not keep it longer.
	archiveWait = 30 * time.Second
	// metricUnarchived counts the runs that went without an archive.
	metricUnarchived = "motorcortex_runs_deleted_unarchived_total"
)

// shortLived is for a run whose time is over as soon as it has ended.
func shortLived(r *v1alpha1.MotorRun) { r.Spec.TTLSecondsAfterFinished = new(int32(1)) }

// With the overlay config/archive, the steps of a run are in the bucket and not in the cluster; and while the bucket is away, a run
// whose time is over stays, with its steps, until it is back.
func TestArchiveIsRequired(t *testing.T) {
	store := startStore(t)
	archiveInto(t, store, true)

	run := wantCompleted(t, startRun(t, "answer"), soon)
	before := wantWholeJournal(t, run)
	run = awaitRun(t, run, soon, "an archive", func(r *v1alpha1.MotorRun) bool { return r.Status.Archive != nil })
	wantArchived(t, store, run, before)
	wantEvent(t, run, "Archived", archive.Key(run))
	awaitNoSteps(t, run)
	said := motor(t, "archive", "verify", store.outside, "--run", run.Namespace+"/"+run.Name)
	if want := fmt.Sprintf("%d steps, head %s", len(before), run.Status.Archive.Head); !strings.Contains(said, want) {
		t.Errorf("kubectl motor archive verify says %q, want %q", said, want)
	}

	store.leave(t)
	kept := wantCompleted(t, startRun(t, "answer", shortLived), soon)
	steps := wantWholeJournal(t, kept)
	wantEvent(t, kept, "ArchiveFailed", "stay in the cluster")
	// A manager that need not keep it has deleted it by then.
	passes(t, kept.Status.CompletionTime.Add(2*archiveWait))
	awaitRun(t, kept, soon, "being kept", func(r *v1alpha1.MotorRun) bool { return r.DeletionTimestamp.IsZero() && r.Status.Archive == nil })
	if diff := cmp.Diff(namesOf(steps), namesOf(wantWholeJournal(t, kept))); diff != "" {
		t.Errorf("its steps (-before +now):\n%s", diff)
	}
	store.comeBack(t)
	awaitGone(t, kept)
	wantEvent(t, kept, "Archived", archive.Key(kept))
	wantArchived(t, store, kept, steps)
	wantLost(t, kept, false)
}

// A run that goes without its archive is told of in each of three places: for who looks at the namespace, at the log, at figures.
func TestArchiveIsWanted(t *testing.T) {
	store := startStore(t)
	archiveInto(t, store, false)
	lost := unarchivedRuns(t)
	store.leave(t)
	run := wantCompleted(t, startRun(t, "answer", shortLived), soon)
	awaitGone(t, run)
	if early := run.Status.CompletionTime.Add(archiveWait); time.Now().Before(early) {
		t.Errorf("the run went before it had waited for its archive, at %s", early)
	}
	wantEvent(t, run, "DeletedUnarchived", "not in the archive")
	wantLost(t, run, true)
	if now := unarchivedRuns(t); now != lost+1 {
		t.Errorf("%s is %d, and was %d before a run was lost", metricUnarchived, now, lost)
	}
	store.comeBack(t)
	if _, err := store.read(t, run); !errors.Is(err, archive.ErrNotFound) {
		t.Errorf("reading an archive that was never written gave %v", err)
	}
}

// wantArchived fails unless the bucket has the run with exactly these steps.
func wantArchived(t *testing.T, store *store, run *v1alpha1.MotorRun, steps []v1alpha1.MotorStep) {
	t.Helper()
	held, err := store.read(t, run)
	if err != nil {
		t.Fatalf("read the archive of %s: %v", run.Name, err)
	}
	if held.Name != run.Name || held.UID != string(run.UID) || run.Status.Archive != nil && held.Head != run.Status.Archive.Head {
		t.Errorf("the archive is of %s (%s) with the head %s, want %s (%s) and %+v", held.Name, held.UID, held.Head, run.Name, run.UID, run.Status.Archive)
	}
	want := map[string]string{}
	for i := range steps {
		digest, err := archive.StepDigest(&steps[i])
		must(t, err)
		want[steps[i].Name] = digest
	}
	if diff := cmp.Diff(want, held.Steps); diff != "" || len(want) == 0 {
		t.Errorf("steps in the archive of %s (-want +got):\n%s", run.Name, diff)
	}
}

// wantLost fails unless a manager logged that the run went without its archive, or none did.
func wantLost(t *testing.T, run *v1alpha1.MotorRun, want bool) {
	t.Helper()
	pods, err := managerPods(t.Context())
	must(t, err)
	var told []string
	for _, pod := range pods {
		log, err := managerLog(t.Context(), pod.Name)
		must(t, err)
		for line := range strings.Lines(log) {
			var entry struct{ Level, Msg, Namespace, Run string }
			if json.Unmarshal([]byte(line), &entry) == nil && entry.Level == "ERROR" && entry.Namespace == run.Namespace && entry.Run == run.Name &&
				strings.Contains(entry.Msg, "before they were archived") {
				told = append(told, line)
			}
		}
	}
	if (len(told) == 1) != want || len(told) > 1 {
		t.Errorf("the managers log of run %s, which is to be lost: %t:\n%s", run.Name, want, strings.Join(told, ""))
	}
}

// unarchivedRuns is how many runs the managers say went without their archive.
func unarchivedRuns(t *testing.T) (sum int) {
	t.Helper()
	must(t, wait.PollUntilContextTimeout(t.Context(), time.Second, soon, true, func(ctx context.Context) (bool, error) {
		pods, err := managerPods(ctx)
		if err != nil {
			return false, err
		}
		sum = 0
		found := false
		for i := range pods {
			metrics, err := managerMetrics(ctx, pods[i].Name)
			if err != nil {
				// The managers were replaced a moment ago: one of them goes, or its port is not open yet.
				t.Logf("read the metrics of %s: %v", pods[i].Name, err)
				return false, nil
			}
			for line := range strings.Lines(metrics) {
				var n int
				if _, err := fmt.Sscanf(line, metricUnarchived+" %d", &n); err == nil {
					found, sum = true, sum+n
				}
			}
		}
		return found, nil
	}))
	return sum
}

func namesOf(steps []v1alpha1.MotorStep) (names []string) {
	for _, s := range steps {
		names = append(names, s.Name)
	}
	slices.Sort(names)
	return names
}
