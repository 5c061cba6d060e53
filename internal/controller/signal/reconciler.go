// SPDX-License-Identifier: Apache-2.0

// Package signal tells the sinks of each MotorCortex what becomes of the runs and skills of its namespace.
//
//	run, step or skill changed ──► each lane of the namespace: what is left to tell? ──► post it, one after the other
//	MotorCortex changed, or now and then ──► lanes as in its spec ──► one status patch, if there is something to say
//
// A sink has a lane, with its own memory, queue and pauses, so that one that is slow or away holds up no other. Lanes hold no signals: what is left to
// tell follows from the objects and from the cursor of the lane (package internal/signal). The cursor is lost with the process. The status of the
// MotorCortex has an instant before which nothing was left, and the next process begins there.
package signal

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/secret"
	"motorcortex.dev/motorcortex/internal/signal"
	"motorcortex.dev/motorcortex/internal/signal/deliver"
	"motorcortex.dev/motorcortex/internal/signal/mailer"
)

// +kubebuilder:rbac:groups=motorcortex.dev,resources=motorcortices,verbs=get;list;watch
// +kubebuilder:rbac:groups=motorcortex.dev,resources=motorcortices/status,verbs=patch
// +kubebuilder:rbac:groups=motorcortex.dev,resources=motorruns;motorsteps;skills,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get

// maxConcurrent bounds the passes at the same time. A pass waits for the API server and for no sink.
const maxConcurrent = 4

// Secrets reads the Secrets of sinks and receivers. A *cortex.Problem as error names the configuration that is missing.
type Secrets interface {
	SinkSecrets(ctx context.Context, namespace string, s *v1alpha1.SignalSink) (authorization, signingKey secret.Value, err error)
	ReceiverSecret(ctx context.Context, namespace string, ref *v1alpha1.SecretKeyRef, what, to string) (secret.Value, error)
}

// Sender posts signals to one sink. Its error is a *deliver.Failure, or the context's.
type Sender interface {
	Send(ctx context.Context, to deliver.Target, what *signal.Signal) error
	Close()
}

// Reconciler has a lane for each sink, and reports in the status of each MotorCortex how they go. It writes the fields sinks and receivers of the status and
// the condition NotificationsReady, and nothing else, and no other object.
type Reconciler struct {
	client.Client
	Secrets Secrets
	// NewSender returns a Sender for the authorities of a sink. Its error is a sentence for a person.
	NewSender func(caBundle string) (Sender, error)
	// NewMailer does the same for a mail server.
	NewMailer func(caBundle string) (Sender, error)
	// Counter counts deliveries. It may be nil.
	Counter Counter
	// Now is the API's clock.
	Now func() time.Time

	mu    sync.Mutex
	lanes map[laneKey]*lane
	// written is when the status of the MotorCortex of a namespace was last written by this process.
	written map[string]time.Time
	// begun hands new lanes to Start.
	begun chan *lane
}

// NewSender returns the constructor of senders that connect as the transports do. inside reports whether an address is of the cluster.
func NewSender(transport func() *http.Transport, inside func(netip.Addr) bool, now func() time.Time) func(string) (Sender, error) {
	return func(caBundle string) (Sender, error) {
		s, err := deliver.New(transport(), caBundle, inside, now)
		if err != nil {
			return nil, err
		}
		return s, nil
	}
}

// NewMailer returns the constructor of senders of e-mail that connect by dial.
func NewMailer(dial mailer.Dial) func(string) (Sender, error) {
	return func(caBundle string) (Sender, error) {
		s, err := mailer.New(dial, caBundle)
		if err != nil {
			return nil, err
		}
		return s, nil
	}
}

// request is a pass over a run, a skill, or the MotorCortex of a namespace.
type request struct {
	subject subject
}

// SetupWithManager registers the reconciler. Like every controller it runs in the leader only, and so do the lanes.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.init()
	if err := mgr.Add(r); err != nil {
		return err
	}
	// The status of a MotorCortex is written by this reconciler and by another one: neither is a change of what is told.
	changed := builder.WithPredicates(predicate.GenerationChangedPredicate{})
	return builder.TypedControllerManagedBy[request](mgr).
		Named("signal").
		Watches(&v1alpha1.MotorCortex{}, r.handler(kindCortex), changed).
		Watches(&v1alpha1.MotorRun{}, r.handler(kindRun)).
		Watches(&v1alpha1.MotorStep{}, stepHandler(), builder.WithPredicates(onlyCreated())).
		Watches(&v1alpha1.Skill{}, r.handler(kindSkill)).
		WithOptions(controller.TypedOptions[request]{
			MaxConcurrentReconciles: maxConcurrent,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[request](5*time.Millisecond, pass.MaxPause),
		}).
		Complete(r)
}

func (r *Reconciler) init() {
	r.lanes, r.written = map[laneKey]*lane{}, map[string]time.Time{}
	r.begun = make(chan *lane)
}

// Start runs the lanes until the context ends. It returns when all of them have ended.
func (r *Reconciler) Start(ctx context.Context) error {
	var lanes sync.WaitGroup
	defer lanes.Wait()
	for {
		select {
		case <-ctx.Done():
			return nil
		case l := <-r.begun:
			lanes.Go(func() { l.run(ctx, r.tell) })
		}
	}
}

// NeedLeaderElection has the lanes run in the leader only. Two processes would tell everything twice.
func (r *Reconciler) NeedLeaderElection() bool { return true }

// Reconcile brings the lanes of a namespace to the state of its MotorCortex, or has them look at one run or skill.
func (r *Reconciler) Reconcile(ctx context.Context, req request) (ctrl.Result, error) {
	if req.subject.kind == kindCortex {
		return r.reconcileCortex(ctx, req.subject.namespace)
	}
	lanes := r.lanesOf(req.subject.namespace)
	if len(lanes) == 0 {
		return ctrl.Result{}, nil
	}
	now := r.Now()
	if req.subject.kind == kindSkill {
		for _, l := range lanes {
			l.touch(req.subject, now)
		}
		return ctrl.Result{}, nil
	}
	run := &v1alpha1.MotorRun{}
	if err := r.Get(ctx, req.subject.key(), run, client.UnsafeDisableDeepCopy); err != nil {
		if err = client.IgnoreNotFound(err); err != nil {
			return pass.Retry(), err
		}
		return ctrl.Result{}, nil
	}
	// A run of another UID is another subject.
	if run.UID == req.subject.uid {
		for _, l := range lanes {
			l.touchRun(run, now)
		}
	}
	return ctrl.Result{}, nil
}

// reconcileCortex begins and ends lanes, and writes the status.
func (r *Reconciler) reconcileCortex(ctx context.Context, namespace string) (ctrl.Result, error) {
	c := &v1alpha1.MotorCortex{}
	if err := r.Get(ctx, client.ObjectKey{Namespace: namespace, Name: v1alpha1.CortexName}, c); client.IgnoreNotFound(err) != nil {
		return pass.Retry(), err
	}
	// One that does not exist has no spec.
	sinks := channelsOf(c)
	begun := r.adjust(namespace, sinks, &c.Status)
	if len(begun) > 0 {
		if err := r.touchAll(ctx, namespace, begun); err != nil {
			r.forget(begun)
			return pass.Retry(), err
		}
	}
	for _, l := range begun {
		select {
		case r.begun <- l:
		case <-ctx.Done():
			r.forget(begun)
			return pass.Retry(), ctx.Err()
		}
	}
	if len(sinks) == 0 && len(c.Status.Sinks)+len(c.Status.Receivers) == 0 {
		return ctrl.Result{}, nil
	}
	if err := r.writeStatus(ctx, c, sinks); err != nil {
		return pass.Retry(), err
	}
	if len(sinks) == 0 {
		return ctrl.Result{}, nil
	}
	return pass.Again(statusPause), nil
}

// touchAll has new lanes look at everything in their namespace that may be untold.
func (r *Reconciler) touchAll(ctx context.Context, namespace string, lanes []*lane) error {
	var runs v1alpha1.MotorRunList
	if err := r.List(ctx, &runs, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list runs: %w", err)
	}
	var skills v1alpha1.SkillList
	if err := r.List(ctx, &skills, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list skills: %w", err)
	}
	for _, l := range lanes {
		for i := range runs.Items {
			// What happened since the beginning of the lane may be untold.
			l.touchRun(&runs.Items[i], l.from)
		}
		for i := range skills.Items {
			l.touch(subjectOf(kindSkill, &skills.Items[i]), l.from)
		}
	}
	return nil
}
