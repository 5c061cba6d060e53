// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	apply "motorcortex.dev/motorcortex/pkg/client/applyconfiguration/api/v1alpha1"
	"motorcortex.dev/motorcortex/pkg/client/clientset/versioned"
	"motorcortex.dev/motorcortex/pkg/client/clientset/versioned/fake"
	"motorcortex.dev/motorcortex/pkg/client/informers/externalversions"
	"motorcortex.dev/motorcortex/pkg/client/motor"
)

// answerAll answers the questions of the runs in a namespace, until the context ends.
func answerAll(ctx context.Context, clients versioned.Interface, namespace, answer string, failed func(error)) error {
	inNamespace := externalversions.WithNamespace(namespace)
	factory := externalversions.NewSharedInformerFactoryWithOptions(clients, 0, inNamespace)
	_, err := factory.MotorCortex().V1alpha1().MotorRuns().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { answerRun(ctx, clients, o.(*v1alpha1.MotorRun), answer, failed) },
		UpdateFunc: func(_, o any) { answerRun(ctx, clients, o.(*v1alpha1.MotorRun), answer, failed) },
	})
	if err != nil {
		return err
	}
	factory.StartWithContext(ctx)
	defer factory.Shutdown()
	<-ctx.Done()
	return nil
}

func answerRun(
	ctx context.Context, clients versioned.Interface, run *v1alpha1.MotorRun, answer string, failed func(error),
) {
	for _, ask := range run.Status.PendingInputs {
		answered := func(r v1alpha1.Response) bool { return r.ID == ask.ID }
		if ask.Kind != v1alpha1.InputQuestion || slices.ContainsFunc(run.Spec.Responses, answered) {
			continue
		}
		response := apply.Response().WithID(ask.ID).WithAnswer(answer)
		change := apply.MotorRun(run.Name, run.Namespace).WithSpec(apply.MotorRunSpec().WithResponses(response))
		// An apply removes what its field manager applied before and leaves out now: each answer has its own.
		options := metav1.ApplyOptions{FieldManager: "answer-" + ask.ID}
		if _, err := clients.MotorCortexV1alpha1().MotorRuns(run.Namespace).Apply(ctx, change, options); err != nil {
			failed(fmt.Errorf("answer %s of %s: %w", ask.ID, run.Name, err))
		}
	}
}

// The generated clients create a run, watch it, and answer two of its questions one after the other.
func TestGeneratedClients(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t, withQuestions, "true")
	clients, err := versioned.NewForConfig(adminConfig)
	must(t, err)
	runs := clients.MotorCortexV1alpha1().MotorRuns(ns)
	run, err := runs.Create(ctx, newRun(ns), metav1.CreateOptions{FieldManager: "test"})
	must(t, err)

	watching, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	failed := func(err error) {
		// The last answer can be written before its call returns.
		if watching.Err() == nil {
			t.Error(err)
		}
	}
	go func() { ended <- answerAll(watching, clients, ns, "yes", failed) }()
	for i, id := range []string{"q1", "q2"} {
		asking(ctx, t, run, 1, &v1alpha1.PendingInput{ID: id, Kind: v1alpha1.InputQuestion, Question: "Well?"})
		must(t, wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			got, err := runs.Get(ctx, run.Name, metav1.GetOptions{})
			if err != nil || len(got.Spec.Responses) != i+1 {
				return false, err
			}
			last := got.Spec.Responses[i]
			return last.ID == id && last.Answer == "yes", nil
		}))
	}
	stop()
	must(t, <-ended)

	// The lister serves what the informer has.
	listing, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	factory := externalversions.NewSharedInformerFactoryWithOptions(clients, 0, externalversions.WithNamespace(ns))
	lister := factory.MotorCortex().V1alpha1().MotorRuns().Lister()
	factory.StartWithContext(listing)
	factory.WaitForCacheSyncWithContext(listing)
	got, err := lister.MotorRuns(ns).Get(run.Name)
	must(t, err)
	if got.Spec.Task != run.Spec.Task {
		t.Errorf("the lister has the task %q, want %q", got.Spec.Task, run.Spec.Task)
	}
}

// Tests of programs that use the clients have no API server. NewClientset needs the schema of the kinds to apply, which is not generated.
func TestGeneratedFakeClients(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	clients := fake.NewSimpleClientset(newRun("default"))
	change := apply.MotorRun("run", "default").WithSpec(apply.MotorRunSpec().WithSuspend(true))
	_, err := clients.MotorCortexV1alpha1().MotorRuns("default").Apply(ctx, change, metav1.ApplyOptions{FieldManager: "test"})
	must(t, err)
	got, err := clients.MotorCortexV1alpha1().MotorRuns("default").Get(ctx, "run", metav1.GetOptions{})
	must(t, err)
	if !got.Spec.Suspend || got.Spec.Task != newRun("default").Spec.Task {
		t.Errorf("%+v", got.Spec)
	}
}

// carryOut has a task carried out, and answers what the run asks until it has ended.
func carryOut(
	ctx context.Context, c *motor.Client, task string, answer func(question string) string,
) (*v1alpha1.MotorRun, error) {
	acted, err := c.Act(ctx, motor.Act{Task: task, Tools: []v1alpha1.ToolName{"read", "write", "code"}})
	if busy, ok := errors.AsType[*motor.BusyError](err); ok {
		return nil, fmt.Errorf("the runs %v come first", busy.Runs)
	} else if err != nil {
		return nil, err
	}
	for event, err := range c.Watch(ctx, acted.Run) {
		switch {
		case err != nil:
			return nil, err
		case event.Type == motor.EventEnded:
			return event.Run, nil
		case event.Type == motor.EventAsked && event.Ask.Kind == v1alpha1.InputQuestion:
			if _, err := c.Respond(ctx, motor.RefTo(event.Run, event.Ask), answer(event.Ask.Question)); err != nil {
				return nil, err
			}
		}
	}
	return nil, ctx.Err()
}

// toolsFor returns the tools for one turn of a model. Only one that a person's message began passes on a decision.
func toolsFor(c *motor.Client, begunByPerson bool) *motor.Toolset {
	return &motor.Toolset{Client: c, Consent: func(_ context.Context, tool, action string) error {
		if !begunByPerson {
			return fmt.Errorf("%s %s: ask the person first", tool, action)
		}
		return nil
	}}
}

// A program has a task carried out, and answers what the run asks.
func TestAProgramHasATaskCarriedOut(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t, withQuestions, "true")
	c, err := motor.New(adminConfig, ns)
	must(t, err)
	type end struct {
		run *v1alpha1.MotorRun
		err error
	}
	ended := make(chan end, 1)
	go func() {
		run, err := carryOut(ctx, c, "count the words", func(question string) string { return question + " Yes." })
		ended <- end{run, err}
	}()
	var run v1alpha1.MotorRun
	must(t, wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		runs, _, err := c.Runs(ctx, "", 1)
		if len(runs) == 1 {
			run = runs[0]
		}
		return len(runs) == 1, err
	}))
	asking(ctx, t, &run, 1, &v1alpha1.PendingInput{ID: "q1", Kind: v1alpha1.InputQuestion, Question: "Well?"})
	must(t, wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		now, err := c.Run(ctx, run.Name)
		return err == nil && len(now.Spec.Responses) == 1 && now.Spec.Responses[0].Answer == "Well? Yes.", err
	}))
	ends(ctx, t, ns, run.Name)
	e := <-ended
	must(t, e.err)
	if e.run.Name != run.Name || e.run.Status.Phase != v1alpha1.PhaseCompleted {
		t.Errorf("%s: %s", e.run.Name, e.run.Status.Phase)
	}
	if err := toolsFor(c, false).Consent(ctx, motor.ToolTask, "respond"); err == nil {
		t.Error("a turn without a person passes on what a person decided")
	}
}

// ends writes the status of a run that has ended, as the manager does.
func ends(ctx context.Context, t *testing.T, namespace, name string) {
	t.Helper()
	run := &v1alpha1.MotorRun{}
	must(t, admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, run))
	before := run.DeepCopy()
	now := metav1.Now()
	run.Status.PendingInputs, run.Status.Phase, run.Status.Reason, run.Status.CompletionTime = nil, v1alpha1.PhaseCompleted, "Completed", &now
	run.Status.ObservedGeneration = run.Generation
	run.Status.Conditions = []metav1.Condition{
		{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionTrue, Reason: "Completed", LastTransitionTime: now},
		{Type: v1alpha1.ConditionFinished, Status: metav1.ConditionTrue, Reason: "Completed", LastTransitionTime: now},
	}
	run.Status.Result = &v1alpha1.RunResult{OK: true, Summary: "There are 3.", Stats: v1alpha1.RunStats{Iterations: 2}}
	must(t, manager.Status().Patch(ctx, run, client.MergeFrom(before)))
}
