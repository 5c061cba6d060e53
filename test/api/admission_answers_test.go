// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// asking writes into a run's status what the operator would.
func asking(ctx context.Context, t *testing.T, run *v1alpha1.MotorRun, attempts int, p *v1alpha1.PendingInput) {
	t.Helper()
	must(t, admin.Get(ctx, client.ObjectKeyFromObject(run), run))
	before := run.DeepCopy()
	run.Status.PendingInputs = v1alpha1.PendingList(p)
	run.Status.Attempts = nil
	for i := range attempts {
		run.Status.Attempts = append(run.Status.Attempts, v1alpha1.AttemptStatus{Index: int32(i) + 1, Cause: v1alpha1.CauseFirst})
	}
	must(t, manager.Status().Patch(ctx, run, client.MergeFrom(before)))
}

func TestAnswersToWhatIsNotAsked(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t, withQuestions, "true")
	wantRefused(t, admin.Create(ctx, newRun(ns, func(run *v1alpha1.MotorRun) {
		run.Spec.Responses = []v1alpha1.Response{{ID: "q1", Answer: "yes"}}
	})), "it has asked nothing yet")
	run := createRun(ctx, t, ns)
	try := func(list, entry, want string) {
		t.Helper()
		wantAdmitted(t, add(ctx, dryRun(admin), run, list, entry), want)
	}
	try("responses", answerOf, "the run asks nothing now")
	try("responses", `{"id":"retry-1","decision":"Retry"}`, "the run asks nothing now")

	asking(ctx, t, run, 1, &v1alpha1.PendingInput{ID: "q1", Kind: v1alpha1.InputQuestion, Question: "Well?"})
	try("responses", answerOf, "")
	try("responses", `{"id":"q2","answer":"yes"}`, "asks nothing under the id q2: answer with the id in status.pendingInputs[].id, which is q1")
	try("responses", decisionOf, "under the id d1")
	must(t, add(ctx, admin, run, "responses", answerOf))

	// What was answered stays, and may be written again beside the next answer.
	asking(ctx, t, run, 1, &v1alpha1.PendingInput{ID: "q2", Kind: v1alpha1.InputQuestion, Question: "And?"})
	try("responses", `{"id":"q2","answer":"yes"}`, "")
	must(t, admin.Patch(ctx, run.DeepCopy(), mergePatchOf(`{"metadata":{"labels":{"team":"a"}}}`)))

	asking(ctx, t, run, 1, &v1alpha1.PendingInput{ID: "retry-1", Kind: v1alpha1.InputRetry, Attempt: new(int32(2)), Question: "Again?"})
	try("responses", `{"id":"retry-1","answer":"yes"}`, "an attempt that failed with decision (Retry or Stop)")
	try("responses", `{"id":"retry-1","decision":"Deny"}`, "an attempt that failed with decision (Retry or Stop)")
	try("responses", `{"id":"retry-2","decision":"Retry"}`, "asks nothing under the id retry-2")
	try("responses", `{"id":"retry-1","decision":"Stop","guidance":"g"}`, "guidance and addDomains go with the decision Retry")
	try("responses", `{"id":"retry-1","decision":"Stop"}`, "")
	must(t, add(ctx, admin, run, "responses", `{"id":"retry-1","decision":"Retry","guidance":"g"}`))

	asking(ctx, t, run, 1, &v1alpha1.PendingInput{ID: "u1", Kind: v1alpha1.InputOutcomeUnknown, Question: "What did it do?"})
	try("responses", `{"id":"u1","answer":"retry"}`, "a call of unknown outcome with decision (Retry, Skip or Done)")
	try("responses", `{"id":"u1","decision":"Retry","guidance":"g"}`, "a call of unknown outcome with decision (Retry, Skip or Done)")
	try("responses", `{"id":"u1","decision":"Stop"}`, "a call of unknown outcome with decision (Retry, Skip or Done)")
	try("responses", `{"id":"u1","decision":"Retry"}`, "")
	try("responses", `{"id":"u1","decision":"Retry","reason":"r"}`, "the decision Retry takes no reason")
	for _, d := range []string{"Skip", "Done"} {
		try("responses", `{"id":"u1","decision":"`+d+`","reason":"r"}`, "")
	}

	asking(ctx, t, run, 3, nil)
	try("responses", `{"id":"q3","answer":"late"}`, "the run asks nothing now")
}

// Where four eyes are asked for, the requester decides nothing, with every right that there is.
func TestFourEyes(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	all := rights{"create,get,list,watch,update,patch,respond,approve motorruns", "use secrets"}
	alice, bob := person(ctx, t, ns, "alice@"+ns, all), person(ctx, t, ns, "bob@"+ns, all)
	exposed := func() *v1alpha1.MotorRun {
		return newRun(ns, named("exposed"), func(run *v1alpha1.MotorRun) {
			run.Spec.Credentials = []v1alpha1.Credential{{Name: "key", SecretRef: v1alpha1.SecretKeyRef{Name: "s", Key: "k"}, ExposeToSandbox: true}}
		})
	}
	run := newRun(ns)
	must(t, alice.Create(ctx, run))
	const domains = `{"id":"retry-1","decision":"Retry","addDomains":["example.org"]}`
	for _, cortex := range []bool{false, true} {
		if cortex {
			must(t, admin.Create(ctx, &v1alpha1.MotorCortex{ObjectMeta: meta(ns, "default"), Spec: v1alpha1.MotorCortexSpec{}}))
		}
		must(t, add(ctx, dryRun(alice), run, "responses", decisionOf))
		must(t, add(ctx, dryRun(alice), run, "responses", domains))
		must(t, alice.Create(ctx, exposed(), client.DryRunAll))
	}
	must(t, admin.Patch(ctx, &v1alpha1.MotorCortex{ObjectMeta: meta(ns, "default")}, mergePatchOf(`{"spec":{"approval":{"fourEyes":true}}}`)))
	// The API server hears of a changed parameter after a moment.
	must(t, wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		return add(ctx, dryRun(alice), run, "responses", decisionOf) != nil, nil
	}))
	const otherwise = "decisions in this namespace come from another user"
	wantRefused(t, add(ctx, alice, run, "responses", decisionOf), "alice@"+ns+" created this run", otherwise)
	wantRefused(t, add(ctx, alice, run, "responses", `{"id":"d1","decision":"Deny"}`), otherwise)
	wantRefused(t, add(ctx, alice, run, "responses", domains), otherwise)
	wantRefused(t, add(ctx, alice, run, "responses", `{"id":"u1","decision":"Done"}`), otherwise)
	wantRefused(t, alice.Create(ctx, exposed(), client.DryRunAll), "exposeToSandbox is decided by who creates the run", otherwise)
	// What is no decision stays theirs, and others decide.
	must(t, add(ctx, dryRun(alice), run, "responses", answerOf))
	must(t, add(ctx, dryRun(alice), run, "responses", `{"id":"retry-1","decision":"Retry"}`))
	must(t, add(ctx, dryRun(bob), run, "responses", domains))
	must(t, add(ctx, bob, run, "responses", decisionOf))
	// A decision that is there is not taken for one of whoever writes next.
	must(t, alice.Patch(ctx, run.DeepCopy(), mergePatchOf(`{"spec":{"suspend":true}}`)))

	// Nobody is somebody else than nobody knows.
	bare := newNamespace(ctx, t, withoutStamping, "true")
	must(t, admin.Create(ctx, &v1alpha1.MotorCortex{ObjectMeta: meta(bare, "default"), Spec: v1alpha1.MotorCortexSpec{Approval: &v1alpha1.CortexApproval{FourEyes: true}}}))
	unknown := createRun(ctx, t, bare)
	must(t, wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		err := add(ctx, dryRun(admin), unknown, "responses", `{"id":"d1","decision":"Deny","respondedBy":"admin"}`)
		return err != nil && strings.Contains(err.Error(), "does not say who that was"), nil
	}))
}

// Who cancels, suspends and asks for another attempt is written by the API server, over whatever the client wrote.
func TestWhoSteersIsStamped(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	all := rights{"create,get,update,patch,respond motorruns"}
	alice, bob := person(ctx, t, ns, "alice@"+ns, all), person(ctx, t, ns, "bob@"+ns, all)
	run := newRun(ns, func(run *v1alpha1.MotorRun) {
		run.Spec.Suspend, run.Spec.SuspendedBy, run.Spec.CancelledBy = true, "root", "root"
	})
	must(t, alice.Create(ctx, run))
	want := func(suspended, cancelled string) {
		t.Helper()
		must(t, admin.Get(ctx, client.ObjectKeyFromObject(run), run))
		if run.Spec.SuspendedBy != suspended || run.Spec.CancelledBy != cancelled {
			t.Errorf("suspended by %q, cancelled by %q, want %q and %q", run.Spec.SuspendedBy, run.Spec.CancelledBy, suspended, cancelled)
		}
	}
	patch := func(c client.Client, spec string) {
		t.Helper()
		must(t, c.Patch(ctx, run.DeepCopy(), mergePatchOf(`{"spec":%s}`, spec)))
	}
	a, b := "alice@"+ns, "bob@"+ns
	want(a, "")
	patch(bob, `{"suspend":true,"suspendedBy":"root","cancelledBy":"root"}`)
	want(a, "")
	patch(bob, `{"suspendedBy":null}`)
	want(a, "")
	patch(bob, `{"suspend":false}`)
	want("", "")
	patch(bob, `{"suspend":true}`)
	want(b, "")
	must(t, add(ctx, bob, run, "responses", `{"id":"retry-1","decision":"Retry","respondedBy":"root"}`))
	patch(alice, `{"cancel":true,"cancelledBy":"root"}`)
	want(b, a)
	if r := run.Spec.Responses; len(r) != 1 || r[0].RespondedBy != b {
		t.Errorf("responses %+v", r)
	}
	patch(bob, `{"ttlSecondsAfterFinished":5}`)
	want(b, a)
}

func TestWhoSteersWithoutStamping(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t, withoutStamping, "true")
	user := "alice@" + ns
	alice := person(ctx, t, ns, user, rights{"create,get,update,patch,respond motorruns"})
	run := newRun(ns)
	must(t, alice.Create(ctx, run))
	c := dryRun(alice)
	for _, what := range []struct{ does, by string }{{"cancel", "cancelledBy"}, {"suspend", "suspendedBy"}} {
		must(t, c.Patch(ctx, run.DeepCopy(), mergePatchOf(`{"spec":{%q:true}}`, what.does)))
		must(t, c.Patch(ctx, run.DeepCopy(), mergePatchOf(`{"spec":{%q:true,%q:%q}}`, what.does, what.by, user)))
		wantRefused(t, c.Patch(ctx, run.DeepCopy(), mergePatchOf(`{"spec":{%q:true,%q:"root"}}`, what.does, what.by)), "spec."+what.by+" is who sets spec."+what.does+": "+user)
		wantRefused(t, c.Patch(ctx, run.DeepCopy(), mergePatchOf(`{"spec":{%q:%q}}`, what.by, user)), "spec."+what.by)
	}
	must(t, add(ctx, c, run, "responses", `{"id":"retry-1","decision":"Retry","respondedBy":"`+user+`"}`))
	wantRefused(t, add(ctx, c, run, "responses", `{"id":"retry-1","decision":"Retry","respondedBy":"root"}`), "respondedBy of a new entry in spec.responses is who writes it: "+user)
}

func TestLabelsOfTheOperator(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	labelled := func(run *v1alpha1.MotorRun) { run.Labels = map[string]string{v1alpha1.LabelSkill: "weather"} }
	wantRefused(t, admin.Create(ctx, newRun(ns, labelled)), "labels motorcortex.dev/… of runs are the operator's")
	run := createRun(ctx, t, ns, func(run *v1alpha1.MotorRun) { run.Labels = map[string]string{"team": "a"} })
	wantRefused(t, admin.Patch(ctx, run.DeepCopy(), mergePatchOf(`{"metadata":{"labels":{%q:"x"}}}`, v1alpha1.LabelRunUID)), "the operator's")
}
