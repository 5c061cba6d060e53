// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/chaos"
	"motorcortex.dev/motorcortex/internal/controller/pool"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/timekeeper"
)

func lasting(run *v1alpha1.MotorRun) {
	run.Spec.Limits.InputDeadlineSeconds, run.Spec.Limits.ApprovalDeadlineSeconds = 24*3600, 24*3600
}

// The manager must not be kept busy by runs that wait, however many they are.
func TestARunThatWaitsMakesNoRequest(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(*rig){
		"for an answer": func(r *rig) {
			r.ready()
			r.asked(1, `{"question":"Which?"}`)
		},
		"for an approval": func(r *rig) {
			r.ready()
			r.said(turnAt(1, "", `bash:{"command":"true"}`))
			r.asks(v1alpha1.InputApproval, 0)
		},
		"for a retry": func(r *rig) {
			r.ready()
			r.said(turnAt(1, "", `bash:{"command":"true"}`))
			r.failed("Broken")
		},
		"suspended": func(r *rig) {
			r.ready()
			r.patchSpec(`{"suspend":true}`)
		},
		"for its turn": func(r *rig) {
			r.bound(1, v1alpha1.BusyQueue)
			r.neighbour("holder", metav1.ConditionTrue, v1alpha1.ReasonAccepted)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := egressRig(t, lasting, reaching("example.org"), using("service_key", "example.org"))
			begin(r)
			counts := r.count()
			r.settle()
			counts.reset()
			r.passFor(20 * time.Minute)
			if list := counts.String(); list != "" {
				t.Errorf("in 20 minutes: %s", list)
			}
		})
	}
}

// A run that has rested goes on with what its Secret has then, and with a grant that lasts.
func TestARunThatRestedGoesOnWithFreshCredentials(t *testing.T) {
	r := egressRig(t, lasting, reaching("example.org"), using("service_key", "example.org"))
	r.ready()
	id := r.asked(1, `{"question":"Which?"}`)
	r.passFor(10 * time.Minute)
	if _, g := r.grantOf(); g.ExpiresAt.After(r.now) {
		t.Fatalf("at %s the grant of a run that rests lasts until %s", r.now, g.ExpiresAt)
	}
	r.putSecret(map[string]string{"service_key": "another-value"})
	respond(r.ctx, t, r.run(), id, "this one")
	if r.run().Status.Pending().Answered {
		t.Fatal("the engine may go on before the grant is good again")
	}
	r.once()
	r.wantValues(map[string]string{"service_key": "another-value"})
	if _, g := r.grantOf(); g.ExpiresAt.Before(r.now.Add(3 * time.Minute)) {
		t.Errorf("at %s the grant lasts until %s", r.now, g.ExpiresAt)
	}
	if !r.run().Status.Pending().Answered {
		t.Error("the engine is not told that the run can go on")
	}
}

// heartbeat returns when the leader wrote its last one.
func (r *chaosRig) heartbeat() time.Time {
	r.t.Helper()
	lease := &coordinationv1.Lease{}
	must(r.t, admin.Get(r.ctx, client.ObjectKey{Namespace: r.run.Namespace, Name: timekeeper.LeaseName}, lease))
	return lease.Spec.RenewTime.Time
}

// Neither the leader nor the engine of a whole manager makes a request for a run that waits.
func TestAManagerMakesNoRequestForARunThatWaits(t *testing.T) {
	counts := &traffic{}
	r := newChaosRig(t, chaos.Settings{}, func(r *chaosRig) {
		r.requests, r.model.answers = counts, []chat.Answer{says("", call("ask_user", `{"question":"Which?"}`)), says("This one.")}
	})
	r.waitFor(func() bool { st := r.status(); return st.Phase == v1alpha1.PhaseAwaitingInput })
	about := []string{"GET motorruns", "GET motorsteps", "GET pods", "GET networkpolicies", "PATCH motorruns/status", "PATCH motorsteps/status", "POST motorsteps"}
	// The loop collects what there is so far, and the status shows that. After it there is nothing, in a time in which each state that is polled is read.
	const quiet, tries = 7 * time.Second, 3
	for try := 1; ; try++ {
		counts.reset()
		since := r.heartbeat()
		r.waitFor(func() bool { return r.heartbeat().Sub(since) > quiet })
		if counts.of(about...) == 0 {
			break
		}
		if try == tries {
			t.Fatalf("in the last %s: %s", quiet, counts)
		}
	}
	respond(r.ctx, t, r.run, r.status().PendingInputs[0].ID, "this one")
	r.waitFor(func() bool { return r.status().Phase == v1alpha1.PhaseCompleted })
}

// A run that waits for its model keeps its way out, because its loop is started for each try. Its Secrets are read twice a minute, and the grant once for each
// time that it is written.
func TestARunThatWaitsForItsModelKeepsItsGrant(t *testing.T) {
	r := egressRig(t, lasting, reaching("example.org"), using("service_key", "example.org"))
	r.ready()
	r.away(outcome.ReasonModelUnavailable, false)
	counts := r.count()
	r.settle()
	counts.reset()
	const minutes = 20
	r.passFor(minutes * time.Minute)
	if _, g := r.grantOf(); g.ExpiresAt.Before(r.now.Add(2 * time.Minute)) {
		t.Errorf("at %s the grant lasts until %s", r.now, g.ExpiresAt)
	}
	const renewals, reads = minutes/2 + 1, 2*minutes + 1
	if puts, gets := counts.of("PUT secrets"), counts.of("GET secrets"); puts > renewals || gets > reads+renewals {
		t.Errorf("in %d minutes: %s", minutes, counts)
	}
}

// A step is two writes and no read. What a run writes beside its steps does not grow with their number, but for its status, once a second.
func TestStepsAreTwoWritesEach(t *testing.T) {
	t.Parallel()
	for _, steps := range []int{5, 20} {
		t.Run(fmt.Sprintf("%d steps", steps), func(t *testing.T) {
			counts := &traffic{}
			r := newChaosRig(t, chaos.Settings{}, func(r *chaosRig) {
				r.requests, r.model.answers = counts, nil
				for i := range steps - 1 {
					r.model.answers = append(r.model.answers, says("", call("bash", fmt.Sprintf(`{"command":"echo %d"}`, i))))
				}
				r.model.answers = append(r.model.answers, says("All done."))
			})
			r.waitFor(func() bool { return r.status().Phase == v1alpha1.PhaseCompleted })
			r.waitFor(func() bool { return counts.of("DELETE pods") > 0 })
			st := r.status()
			seconds := int(st.CompletionTime.Sub(r.run.CreationTimestamp.Time)/time.Second) + 1
			t.Logf("in %d s: %s", seconds, counts)
			for name, want := range map[string]int{
				"POST motorsteps": steps, "PATCH motorsteps/status": steps, "POST pods": 1, "DELETE pods": 1, "POST networkpolicies": 1,
			} {
				if got := counts.of(name); got != want {
					t.Errorf("%s: %d requests, want %d", name, got, want)
				}
			}
			// It has its Pod, is ready, and has ended; how far it got, once a second; and what a busy machine tells apart. Of 20 steps each would be two more,
			// which is 40.
			if got, most := counts.of("PATCH motorruns/status"), 5+seconds; got > most {
				t.Errorf("the status was written %d times in %d s, want %d at most", got, seconds, most)
			}
			if got := counts.of("GET motorruns", "GET motorcortices", "GET motorsteps", "GET pods", "GET networkpolicies"); got > 10 {
				t.Errorf("%d reads: %s", got, counts)
			}
		})
	}
}

// What a whole run of five steps costs the API server beyond its steps. The bounds are at most those of `make bench`, which are 12 and 8 writes, with a
// write more for each second that the run takes on a busy machine.
func TestAWholeRunIsFewRequests(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		shape []func(*v1alpha1.MotorRun)
		// want are the writes of objects.
		want map[string]int
		// most are all of them.
		status, most int
	}{
		"cold": {
			shape: []func(*v1alpha1.MotorRun){func(run *v1alpha1.MotorRun) {
				run.Spec.Sandbox = &v1alpha1.RunSandbox{Resources: v1alpha1.SandboxResources{Memory: new(resource.MustParse("3Gi"))}}
			}},
			want: map[string]int{"POST pods": 1, "DELETE pods": 1}, status: 3, most: 8,
		},
		"warm, with the pool's refill": {
			want: map[string]int{"POST pods": 1, "PATCH pods": 1, "DELETE pods": 1}, status: 2, most: 8,
		},
	} {
		t.Run(name, func(t *testing.T) {
			counts := &traffic{}
			r := newChaosRig(t, chaos.Settings{}, func(r *chaosRig) {
				r.requests, r.pools, r.shape = counts, &pool.Reconciler{}, tt.shape
				r.model.answers = nil
				for i := range 4 {
					r.model.answers = append(r.model.answers, says("", call("bash", fmt.Sprintf(`{"command":"echo %d"}`, i))))
				}
				r.model.answers = append(r.model.answers, says("All done."))
			})
			r.waitFor(func() bool { return r.status().Phase == v1alpha1.PhaseCompleted })
			seconds, ofPool := int(time.Since(r.created)/time.Second), 0
			r.waitFor(func() bool { return counts.of("DELETE pods") > 0 })
			if tt.shape == nil {
				if r.refill(); time.Since(r.created) > poolShowPause-time.Second {
					ofPool = 2 // It lacked a sandbox for so long that it said so, and is full again.
				}
			}
			since := r.heartbeat()
			r.waitFor(func() bool { return r.heartbeat().Sub(since) > 2*time.Second })
			t.Logf("in %d s: %s", seconds, counts)
			for name, want := range tt.want {
				if got := counts.of(name); got != want {
					t.Errorf("%s: %d requests, want %d", name, got, want)
				}
			}
			if got := counts.of("PATCH motorruns/status"); got > tt.status+seconds {
				t.Errorf("the status was written %d times in %d s", got, seconds)
			}
			if got := counts.of("PATCH sandboxpools/status"); got > ofPool {
				t.Errorf("the pool was written %d times", got)
			}
			// The nodes of this cluster have no user namespaces, and that is an Event.
			if got := counts.of("POST events", "PATCH events"); got > 3 {
				t.Errorf("%d Events", got)
			}
			writes, reads := counts.beyondSteps()
			if writes > tt.most+seconds+ofPool || reads > 10 {
				t.Errorf("%d writes beyond the steps, %d reads", writes, reads)
			}
		})
	}
}
