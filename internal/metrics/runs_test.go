// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func of(uid string, run *v1alpha1.MotorRun) *v1alpha1.MotorRun {
	run.UID = types.UID(uid)
	return run
}

// ended is a run that ended an hour ago.
func ended(uid, succeeded, reason string) *v1alpha1.MotorRun {
	run := of(uid, with([3]string{"Finished", "True", reason}, [3]string{"Succeeded", succeeded, reason}))
	run.Status.CompletionTime = &metav1.Time{Time: noon.Add(-time.Hour)}
	return run
}

func asking(uid string, kind v1alpha1.InputKind, asked, expires time.Duration) *v1alpha1.MotorRun {
	run := of(uid, with([3]string{"Accepted", "True", "Accepted"}, [3]string{"AwaitingInput", "True", string(kind)}))
	run.Status.PendingInputs = []v1alpha1.PendingInput{{
		ID: uid, Kind: kind, AskTime: metav1.NewTime(noon.Add(asked)), ExpirationTime: metav1.NewTime(noon.Add(expires)),
	}}
	return run
}

func TestRunsAreShownAsTheInformerTells(t *testing.T) {
	t.Parallel()
	to := prometheus.NewRegistry()
	r, err := RegisterRuns(to, true, now)
	must(t, err)
	queued := of("queued", with([3]string{"Accepted", "False", "Queued"}))
	running := of("running", with([3]string{"Accepted", "True", "Accepted"}))
	question := asking("question", v1alpha1.InputQuestion, -time.Hour, time.Hour)
	for _, run := range []*v1alpha1.MotorRun{
		queued, running, question, asking("later", v1alpha1.InputQuestion, -time.Minute, 2*time.Hour),
		asking("approval", v1alpha1.InputApproval, -time.Second, -2*time.Second), ended("a", "True", "Completed"), ended("b", "True", "Completed"),
	} {
		r.OnAdd(run, true)
	}
	const some = "motorcortex_runs"
	has(t, to, `
		motorcortex_runs{reason="Approval",state="awaiting_input"} 1
		motorcortex_runs{reason="Completed",state="succeeded"} 2
		motorcortex_runs{reason="Question",state="awaiting_input"} 2
		motorcortex_runs{reason="Queued",state="queued"} 1
		motorcortex_runs{reason="Running",state="running"} 1
		motorcortex_queue_runs 1
		motorcortex_queue_oldest_age_seconds 60
		motorcortex_asks_open{kind="Approval"} 1
		motorcortex_asks_open{kind="BudgetExhausted"} 0
		motorcortex_asks_open{kind="DomainRequest"} 0
		motorcortex_asks_open{kind="OutcomeUnknown"} 0
		motorcortex_asks_open{kind="Question"} 2
		motorcortex_asks_open{kind="Retry"} 0
		motorcortex_asks_oldest_age_seconds{kind="Approval"} 1
		motorcortex_asks_oldest_age_seconds{kind="BudgetExhausted"} 0
		motorcortex_asks_oldest_age_seconds{kind="DomainRequest"} 0
		motorcortex_asks_oldest_age_seconds{kind="OutcomeUnknown"} 0
		motorcortex_asks_oldest_age_seconds{kind="Question"} 3600
		motorcortex_asks_oldest_age_seconds{kind="Retry"} 0
		motorcortex_asks_next_expiry_seconds{kind="Approval"} -2
		motorcortex_asks_next_expiry_seconds{kind="Question"} 3600
		motorcortex_archive_pending_runs 2
		motorcortex_archive_oldest_pending_seconds 3600
	`, some, "motorcortex_queue_runs", "motorcortex_queue_oldest_age_seconds", "motorcortex_asks_open", "motorcortex_asks_oldest_age_seconds",
		"motorcortex_asks_next_expiry_seconds", "motorcortex_archive_pending_runs", "motorcortex_archive_oldest_pending_seconds")

	// The run is admitted, the question is answered, one run is archived, one is deleted, and one ends.
	r.OnUpdate(queued, of("queued", with([3]string{"Accepted", "True", "Accepted"})))
	answered := question.DeepCopy()
	answered.Status.PendingInputs[0].Answered = true
	answered.Status.Conditions = with([3]string{"Accepted", "True", "Accepted"}).Status.Conditions
	r.OnUpdate(question, answered)
	archived := ended("a", "True", "Completed")
	archived.Status.Archive = &v1alpha1.ArchiveStatus{Key: "key"}
	r.OnUpdate(ended("a", "True", "Completed"), archived)
	r.OnDelete(toolscache.DeletedFinalStateUnknown{Key: "ns/b", Obj: ended("b", "True", "Completed")})
	r.OnUpdate(running, ended("running", "False", "Timeout"))
	has(t, to, `
		motorcortex_runs{reason="Approval",state="awaiting_input"} 1
		motorcortex_runs{reason="Completed",state="succeeded"} 1
		motorcortex_runs{reason="Question",state="awaiting_input"} 1
		motorcortex_runs{reason="Running",state="running"} 2
		motorcortex_runs{reason="Timeout",state="failed"} 1
		motorcortex_queue_runs 0
		motorcortex_queue_oldest_age_seconds 0
		motorcortex_asks_next_expiry_seconds{kind="Approval"} -2
		motorcortex_asks_next_expiry_seconds{kind="Question"} 7200
		motorcortex_archive_pending_runs 1
	`, some, "motorcortex_queue_runs", "motorcortex_queue_oldest_age_seconds", "motorcortex_asks_next_expiry_seconds", "motorcortex_archive_pending_runs")
}

func TestConditionsOfRunsThatGoOnAreShown(t *testing.T) {
	t.Parallel()
	to := prometheus.NewRegistry()
	r, err := RegisterRuns(to, false, now)
	must(t, err)
	r.OnAdd(of("a", with([3]string{"Accepted", "True", "Accepted"}, [3]string{"IsolationVerified", "False", "Reachable"})), true)
	r.OnAdd(of("b", with([3]string{"Accepted", "True", "Accepted"}, [3]string{"Reconciling", "True", "Running"})), true)
	r.OnAdd(ended("c", "False", "IsolationUnverified"), true)
	has(t, to, `
		motorcortex_run_conditions{reason="Accepted",status="True",type="Accepted"} 2
		motorcortex_run_conditions{reason="Reachable",status="False",type="IsolationVerified"} 1
	`, "motorcortex_run_conditions", "motorcortex_archive_pending_runs", "motorcortex_archive_oldest_pending_seconds")
}

// A cluster can have a hundred thousand runs that have ended. The metrics keep none of them, and forget what is gone.
func TestEndedRunsAreNotKept(t *testing.T) {
	t.Parallel()
	r, err := RegisterRuns(prometheus.NewRegistry(), false, now)
	must(t, err)
	for i := range 1000 {
		r.OnAdd(of(strconv.Itoa(i), with([3]string{"Accepted", "True", "Accepted"})), true)
	}
	for i := range 1000 {
		uid := strconv.Itoa(i)
		r.OnUpdate(of(uid, with([3]string{"Accepted", "True", "Accepted"})), ended(uid, "True", "Completed"))
	}
	if len(r.going) != 0 || len(r.unarchived) != 0 || len(r.ended) != 1 {
		t.Errorf("%d runs go on, %d are unarchived, %d standings", len(r.going), len(r.unarchived), len(r.ended))
	}
	for i := range 1000 {
		r.OnDelete(ended(strconv.Itoa(i), "True", "Completed"))
	}
	if len(r.ended) != 0 {
		t.Errorf("after the deletion of all: %v", r.ended)
	}
}
