// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	apply "motorcortex.dev/motorcortex/pkg/client/applyconfiguration/api/v1alpha1"
	"motorcortex.dev/motorcortex/pkg/client/clientset/versioned"
	"motorcortex.dev/motorcortex/pkg/client/clientset/versioned/fake"
	"motorcortex.dev/motorcortex/pkg/client/informers/externalversions"
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
