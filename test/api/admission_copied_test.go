// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// A copy is what a backup or kubectl get gives, without what the API server fills in.
func copyOf(run *v1alpha1.MotorRun, name string) *v1alpha1.MotorRun {
	return &v1alpha1.MotorRun{ObjectMeta: meta(run.Namespace, name), Spec: *run.Spec.DeepCopy()}
}

func TestCopiesAreKnown(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	all := rights{"create,get,update,patch motorruns"}
	alice, bob := person(ctx, t, ns, "alice@"+ns, with(all, responder)), person(ctx, t, ns, "bob@"+ns, all)
	run := newRun(ns)
	must(t, alice.Create(ctx, run))
	if run.Spec.Origin != v1alpha1.OriginCreated {
		t.Fatalf("origin %q", run.Spec.Origin)
	}
	must(t, add(ctx, alice, run, "responses", answerOf))
	must(t, add(ctx, alice, run, "responses", `{"id":"retry-1","decision":"Retry"}`))
	must(t, admin.Get(ctx, client.ObjectKeyFromObject(run), run))
	for _, origin := range []v1alpha1.RunOrigin{v1alpha1.OriginCreated, v1alpha1.OriginCopied, v1alpha1.OriginReleased} {
		t.Run(string(origin), func(t *testing.T) {
			is := copyOf(run, "copy")
			is.Spec.Origin = origin
			// Who restores it needs no right to answer: nothing of what was answered counts for the copy.
			must(t, bob.Create(ctx, is, client.DryRunAll))
			if is.Spec.Origin != v1alpha1.OriginCopied || len(is.Spec.Responses) > 0 || is.Spec.Requester.Username != "bob@"+ns {
				t.Errorf("origin %q, responses %v, requester %v", is.Spec.Origin, is.Spec.Responses, is.Spec.Requester)
			}
		})
	}

	// Nobody makes one out of a run, nor a run out of a copy but by a release, which the right to steer permits.
	release := mergePatchOf(`{"spec":{"origin":"Released"}}`)
	wantRefused(t, alice.Patch(ctx, run.DeepCopy(), release), "origin changes only from Copied to Released")
	wantRefused(t, alice.Patch(ctx, run.DeepCopy(), mergePatchOf(`{"spec":{"origin":null}}`)), "origin changes only")
	is := copyOf(run, "copy")
	must(t, admin.Create(ctx, is))
	wantRefused(t, bob.Patch(ctx, is.DeepCopy(), mergePatchOf(`{"spec":{"origin":"Created"}}`)), "origin changes only")
	wantRefused(t, person(ctx, t, ns, "rita@"+ns, responder).Patch(ctx, is.DeepCopy(), release), "need the verb update")
	must(t, bob.Patch(ctx, is, mergePatchOf(`{"spec":{"origin":"Released","requester":{"username":"root"}}}`)))
	if is.Spec.Origin != v1alpha1.OriginReleased || is.Spec.Requester.Username != "bob@"+ns {
		t.Errorf("origin %q, requester %+v", is.Spec.Origin, is.Spec.Requester)
	}
	wantRefused(t, alice.Patch(ctx, is.DeepCopy(), mergePatchOf(`{"spec":{"origin":"Copied"}}`)), "origin changes only")
}

func TestWithoutStampingNobodyReleases(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t, withoutStamping, "true")
	wantRefused(t, admin.Create(ctx, newRun(ns, func(run *v1alpha1.MotorRun) { run.Spec.Origin = v1alpha1.OriginReleased })), "is not Released")
	must(t, admin.Create(ctx, newRun(ns)))
}

// A copy waits for a person, however long that takes, and begins when one has released it.
func TestCopiedRunWaits(t *testing.T) {
	r := newRig(t, func(run *v1alpha1.MotorRun) { run.Spec.Origin = v1alpha1.OriginCreated })
	for range 2 {
		r.step()
		r.want(v1alpha1.PhaseCreated, "Accepted False CopiedRun", "Stalled True CopiedRun", "Finished False Running")
		for _, part := range []string{"may have been carried out already", `patch motorrun run --type=merge -p '{"spec":{"origin":"Released"}}'`} {
			if m := r.run().Status.Message; !strings.Contains(m, part) {
				t.Errorf("the message does not say %q: %s", part, m)
			}
		}
		if r.pod() != nil {
			t.Error("it has a sandbox")
		}
		r.now = r.now.Add(20 * time.Minute)
	}
	// The run's ten minutes are not over: none of them was its own.
	must(t, mergePatch(r.ctx, r.run(), `{"spec":{"origin":"Released"}}`))
	r.once()
	r.want(v1alpha1.PhaseCreated, "Accepted True Accepted", "Finished False Running")
}
