// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"slices"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/cortex"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/sandbox"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// allRuns maps a MotorCortex to the runs of its namespace: it sets how long finished runs are retained, too.
func (r *Reconciler) allRuns(ctx context.Context, o client.Object) []reconcile.Request {
	return r.chosen(ctx, o, func(_ *v1alpha1.MotorCortex, runs []v1alpha1.MotorRun) (list []*v1alpha1.MotorRun) {
		for i := range runs {
			list = append(list, &runs[i])
		}
		return list
	})
}

// unfinishedRuns maps an object that concerns all runs of a namespace to those that it can still concern.
func (r *Reconciler) unfinishedRuns(ctx context.Context, o client.Object) []reconcile.Request {
	return r.chosen(ctx, o, func(_ *v1alpha1.MotorCortex, runs []v1alpha1.MotorRun) (list []*v1alpha1.MotorRun) {
		for i := range runs {
			if !pass.IsFinished(&runs[i]) {
				list = append(list, &runs[i])
			}
		}
		return list
	})
}

// closedRuns maps a NetworkPolicy to the runs whose sandboxes it closes, or opens: one of a run's own to that run. The baseline is that of all runs
// of its namespace, with any label.
func (r *Reconciler) closedRuns(ctx context.Context, o client.Object) []reconcile.Request {
	if run := o.GetLabels()[v1alpha1.LabelRun]; run != "" && o.GetName() != sandbox.BaselineName {
		return []reconcile.Request{runBeside(o, run)}
	}
	return r.unfinishedRuns(ctx, o)
}

// runBeside returns the request for the run of that name in the namespace of an object.
func runBeside(o client.Object, name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: name}}
}

// runOfClaim maps the claim of a workspace to its run.
func runOfClaim(_ context.Context, o client.Object) []reconcile.Request {
	run := o.GetLabels()[v1alpha1.LabelRun]
	if run == "" {
		return nil
	}
	return []reconcile.Request{runBeside(o, run)}
}

// chosen requests a pass over those runs of a namespace that choose selects from its MotorCortex.
func (r *Reconciler) chosen(
	ctx context.Context, o client.Object, choose func(*v1alpha1.MotorCortex, []v1alpha1.MotorRun) []*v1alpha1.MotorRun,
) []reconcile.Request {
	all := func(*v1alpha1.MotorCortex) ([]v1alpha1.MotorRun, error) {
		return pass.RunsOf(ctx, r.Client, o.GetNamespace())
	}
	return r.chosenAmong(ctx, o, all, choose)
}

// chosenAmong is chosen of the runs that are listed.
func (r *Reconciler) chosenAmong(
	ctx context.Context, o client.Object, list func(*v1alpha1.MotorCortex) ([]v1alpha1.MotorRun, error),
	choose func(*v1alpha1.MotorCortex, []v1alpha1.MotorRun) []*v1alpha1.MotorRun,
) []reconcile.Request {
	c, err := cortex.Get(ctx, r.Client, o.GetNamespace())
	var runs []v1alpha1.MotorRun
	if err == nil {
		runs, err = list(c)
	}
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "find the runs that another one concerns", "namespace", o.GetNamespace(), "run", o.GetName())
		return nil
	}
	var requests []reconcile.Request
	for _, run := range choose(c, runs) {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(run)})
	}
	return requests
}

type requests = workqueue.TypedRateLimitingInterface[reconcile.Request]

// stepEvents requests a pass for the run of a step: at once if the step can decide something, and else within Config.ShowPause. Without the pause each
// step would cost two passes and two writes of the run, which the next step waits for on a busy API server.
func (r *Reconciler) stepEvents() handler.EventHandler {
	atOnce := func(o client.Object, q requests) {
		if request, ok := runOfStep(o); ok {
			q.Add(request)
		}
	}
	at := func(ctx context.Context, o client.Object, q requests) {
		request, ok := runOfStep(o)
		step, isStep := o.(*v1alpha1.MotorStep)
		run := &v1alpha1.MotorRun{}
		if ok && isStep && r.Config.ShowPause > 0 && onlyShows(step) && r.Get(ctx, request.NamespacedName, run, client.UnsafeDisableDeepCopy) == nil && goesItsWay(run) {
			q.AddAfter(request, r.Config.ShowPause)
			return
		}
		atOnce(o, q)
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q requests) { at(ctx, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q requests) {
			if _, ok := runOfStep(e.ObjectNew); !ok {
				atOnce(e.ObjectOld, q) // The step was taken from its run.
				return
			}
			at(ctx, e.ObjectNew, q)
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q requests) { atOnce(e.Object, q) },
	}
}

// runOfStep returns the request for the run that owns a step, false if none does.
func runOfStep(o client.Object) (reconcile.Request, bool) {
	owner := metav1.GetControllerOfNoCopy(o)
	if owner == nil || owner.Kind != "MotorRun" {
		return reconcile.Request{}, false
	}
	return runBeside(o, owner.Name), true
}

// onlyShows reports whether a step shows how far the run got, and nothing that its controller decides about: no end, no ask, no call with an unknown
// outcome, and only calls that act in the sandbox.
func onlyShows(s *v1alpha1.MotorStep) bool {
	spec, st := &s.Spec, &s.Status
	return spec.Type == v1alpha1.StepTurn && !spec.Final &&
		st.Closed == nil && st.Skills == nil && len(st.Asks) == 0 && len(st.Unknown) == 0 &&
		(st.Phase == "" || st.Phase == v1alpha1.StepInFlight || st.Phase == v1alpha1.StepSettled) &&
		len(spec.ToolCalls) > 0 && !slices.ContainsFunc(spec.ToolCalls, func(c v1alpha1.ToolCall) bool { return !toolapi.WorksInSandbox(c.Tool) })
}

// goesItsWay reports whether nothing about the run is being decided, so that it makes no difference when its controller learns of a step. A domain
// that is open for one call must be closed after it, and the runs beside one that is carried on alone wait for its first step. A step also shows that a
// model answers again, and that a sandbox is closed again.
func goesItsWay(run *v1alpha1.MotorRun) bool {
	return !run.Spec.Suspend && !run.Spec.Cancel && run.Status.Ending == nil && len(run.Status.PendingInputs) == 0 && !runpolicy.IsAlone(&run.Status) &&
		!apimeta.IsStatusConditionFalse(run.Status.Conditions, v1alpha1.ConditionModelAvailable) &&
		!apimeta.IsStatusConditionFalse(run.Status.Conditions, v1alpha1.ConditionIsolationVerified) &&
		!slices.ContainsFunc(run.Spec.Responses, func(r v1alpha1.Response) bool { return r.Decision == v1alpha1.DecisionAllowOnce })
}

// unfinishedFirst has a new leader look at the runs that have not ended before all others. The queue gives all objects of the first list one
// priority, and among very many finished runs those that are under way would stand still for minutes.
func unfinishedFirst() handler.EventHandler {
	return handler.Funcs{CreateFunc: func(_ context.Context, e event.CreateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		run, ok := e.Object.(*v1alpha1.MotorRun)
		if !ok || pass.IsFinished(run) {
			return
		}
		request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(run)}
		if first, ok := q.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
			first.AddWithOpts(priorityqueue.AddOpts{Priority: new(0)}, request)
			return
		}
		q.Add(request)
	}}
}
