// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/journal"
	"motorcortex.dev/motorcortex/internal/secret"
	"motorcortex.dev/motorcortex/internal/signal"
	"motorcortex.dev/motorcortex/internal/signal/deliver"
)

// sink is one that a test plays. It takes everything but what refuse has an answer to.
type sink struct {
	mu     sync.Mutex
	got    []string
	tries  int
	refuse func(id string, tries int) error
	// hold delays each answer.
	hold time.Duration
}

func (s *sink) Send(ctx context.Context, _ deliver.Target, what *signal.Signal) error {
	s.mu.Lock()
	s.tries++
	tries, refuse, hold := s.tries, s.refuse, s.hold
	s.mu.Unlock()
	if hold > 0 {
		select {
		case <-time.After(hold):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if refuse != nil {
		if err := refuse(what.ID, tries); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = append(s.got, saidOf(what))
	return nil
}

// saidOf is the id of a signal, or those of all that a digest has.
func saidOf(what *signal.Signal) string {
	d, ok := what.Data.(*signal.Digest)
	if !ok {
		return what.ID
	}
	ids := make([]string, 0, len(d.Asks))
	for _, s := range d.Asks {
		ids = append(ids, s.ID)
	}
	said := "digest of " + strings.Join(ids, " ")
	if more := d.Count - len(ids); more > 0 {
		said += fmt.Sprintf(" and %d", more)
	}
	return said
}

func (s *sink) Close() {}

// taken returns what the sink has taken.
func (s *sink) taken() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}

func (s *sink) answer(refuse func(id string, tries int) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = refuse
}

var errAway = &deliver.Failure{Reason: v1alpha1.ReasonSinkUnavailable, Message: "The sink cannot be reached."}

func away(string, int) error { return errAway }

// noSecrets is of sinks without Secrets.
type noSecrets struct{ err error }

func (n noSecrets) SinkSecrets(context.Context, string, *v1alpha1.SignalSink) (a, k secret.Value, err error) {
	return a, k, n.err
}

func (n noSecrets) ReceiverSecret(context.Context, string, *v1alpha1.SecretKeyRef, string, string) (v secret.Value, err error) {
	return v, n.err
}

// rig is a reconciler in a bubble, with sinks that are named by their caBundle.
type rig struct {
	t     *testing.T
	ctx   context.Context
	c     client.WithWatch
	r     *Reconciler
	sinks map[string]*sink
	stop  func()
}

// later lets the time of a bubble pass.
func later(d time.Duration) { <-time.After(d) }

// inBubble runs a test whose time passes by itself.
func inBubble(t *testing.T, names []string, test func(*rig)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		scheme := runtime.NewScheme()
		if err := v1alpha1.AddToScheme(scheme); err != nil {
			t.Fatal(err)
		}
		g := &rig{t: t, ctx: t.Context(), sinks: map[string]*sink{}}
		g.c = fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.MotorCortex{}, &v1alpha1.MotorRun{}).Build()
		c := &v1alpha1.MotorCortex{}
		c.Name, c.Namespace, c.Spec.Signals = v1alpha1.CortexName, "ns", &v1alpha1.Signals{}
		for _, name := range names {
			g.sinks[name] = &sink{}
			c.Spec.Signals.Sinks = append(c.Spec.Signals.Sinks, v1alpha1.SignalSink{Name: name, URL: "http://" + name, CABundle: name})
		}
		g.must(g.c.Create(g.ctx, c))
		g.begin()
		test(g)
		g.stop()
	})
}

// receive has the sink of that name be a receiver that is told asks and ends, and no sink.
func (g *rig) receive(name string, set ...func(*v1alpha1.NotificationReceiver)) {
	g.t.Helper()
	r := v1alpha1.NotificationReceiver{
		Name: name, Webhook: &v1alpha1.WebhookReceiver{URL: "http://" + name, CABundle: name}, Events: []v1alpha1.NotificationEvent{v1alpha1.NotifyAsks, v1alpha1.NotifyEnds},
	}
	for _, f := range set {
		f(&r)
	}
	c := g.cortex()
	c.Generation++
	c.Spec = v1alpha1.MotorCortexSpec{Notifications: &v1alpha1.Notifications{Receivers: []v1alpha1.NotificationReceiver{r}}}
	g.must(g.c.Update(g.ctx, c))
	g.cortex()
}

func (g *rig) must(err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
}

// begin starts a process. stop ends it.
func (g *rig) begin() {
	g.r = &Reconciler{Client: g.c, Secrets: noSecrets{}, Now: time.Now, NewSender: func(name string) (Sender, error) {
		if s := g.sinks[name]; s != nil {
			return s, nil
		}
		return nil, errors.New("no such sink")
	}}
	g.r.init()
	ctx, cancel := context.WithCancel(g.ctx)
	ended := make(chan struct{})
	go func() {
		_ = g.r.Start(ctx)
		close(ended)
	}()
	g.stop = func() { cancel(); <-ended }
	g.cortex()
}

// restart ends the process and starts another one.
func (g *rig) restart() { g.stop(); g.begin() }

// cortex has a pass look at the MotorCortex, as it does every 10 s.
func (g *rig) cortex() *v1alpha1.MotorCortex {
	g.t.Helper()
	_, err := g.r.Reconcile(g.ctx, request{subject: subject{kind: kindCortex, namespace: "ns", name: v1alpha1.CortexName}})
	g.must(err)
	c := &v1alpha1.MotorCortex{}
	g.must(g.c.Get(g.ctx, client.ObjectKey{Namespace: "ns", Name: v1alpha1.CortexName}, c))
	return c
}

// pass has the lanes look at a run.
func (g *rig) pass(run *v1alpha1.MotorRun) {
	g.t.Helper()
	_, err := g.r.Reconcile(g.ctx, request{subject: subjectOf(kindRun, run)})
	g.must(err)
}

// accept makes a run that begins now.
func (g *rig) accept(name string) *v1alpha1.MotorRun {
	g.t.Helper()
	run := &v1alpha1.MotorRun{}
	run.Name, run.Namespace, run.UID = name, "ns", types.UID("u-"+name)
	set(run, v1alpha1.ConditionAccepted, v1alpha1.ConditionAccepted)
	g.must(g.c.Create(g.ctx, run))
	g.must(g.c.Status().Update(g.ctx, run))
	g.pass(run)
	return run
}

func set(run *v1alpha1.MotorRun, condition, reason string) {
	apimeta.SetStatusCondition(&run.Status.Conditions, metav1.Condition{
		Type: condition, Status: metav1.ConditionTrue, Reason: reason, LastTransitionTime: metav1.NewTime(time.Now().Truncate(time.Second)),
	})
}

// finish ends a run with success.
func (g *rig) finish(run *v1alpha1.MotorRun) {
	g.t.Helper()
	set(run, v1alpha1.ConditionSucceeded, v1alpha1.ReasonCompleted)
	set(run, v1alpha1.ConditionFinished, v1alpha1.ReasonCompleted)
	run.Status.CompletionTime = new(metav1.NewTime(time.Now().Truncate(time.Second)))
	run.Status.PendingInputs = nil
	g.must(g.c.Status().Update(g.ctx, run))
	g.pass(run)
}

func (g *rig) ask(run *v1alpha1.MotorRun, id string, within ...time.Duration) {
	g.t.Helper()
	p := v1alpha1.PendingInput{ID: id, Kind: v1alpha1.InputQuestion, Question: "Which?", AskTime: metav1.Now()}
	for _, d := range within {
		p.ExpirationTime = metav1.NewTime(time.Now().Add(d))
	}
	run.Status.PendingInputs = []v1alpha1.PendingInput{p}
	g.must(g.c.Status().Update(g.ctx, run))
	g.pass(run)
}

func (g *rig) step(run *v1alpha1.MotorRun, attempt, index int32, content string) {
	g.t.Helper()
	s := &v1alpha1.MotorStep{Spec: v1alpha1.MotorStepSpec{Type: v1alpha1.StepTurn, Attempt: attempt, Index: index, Content: content}}
	s.Name, s.Namespace, s.CreationTimestamp = journal.StepName(run.Name, attempt, index), "ns", metav1.Now()
	s.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(run, v1alpha1.GroupVersion.WithKind("MotorRun"))}
	g.must(g.c.Create(g.ctx, s))
	g.pass(run)
}

// remove deletes a run, as its watch tells of it.
func (g *rig) remove(run *v1alpha1.MotorRun) {
	g.t.Helper()
	g.must(g.c.Delete(g.ctx, run))
	g.r.depart(subjectOf(kindRun, run), run)
}

func (g *rig) want(name string, ids ...string) {
	g.t.Helper()
	synctest.Wait()
	if got := g.sinks[name].taken(); !slices.Equal(got, ids) {
		g.t.Errorf("%s has %q, want %q", name, got, ids)
	}
}
