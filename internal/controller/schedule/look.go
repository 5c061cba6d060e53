// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/schedule"
	"motorcortex.dev/motorcortex/internal/text"
)

// maxActive is how many runs that have not ended the status has.
const maxActive = 64

// problem is why no run begins: a reason of the condition, and what to do about it.
type problem struct{ reason, message string }

// look is what one pass knows of a schedule.
type look struct {
	pass.Pass
	before, schedule *v1alpha1.MotorSchedule
	// runs are those of the schedule, in the order of their names, which is that of their starts.
	runs []*v1alpha1.MotorRun
	// plan is nil if there is none.
	plan *schedule.Plan
	// run is the run that begins at each start, without its name, nil if there is none.
	run *v1alpha1.MotorRun
	// problem is why no run begins, nil if one does.
	problem  *problem
	decision schedule.Decision
	// began is true if the start of the decision took place in this pass.
	began bool
	told  []pass.Transition
}

// isOf reports whether the manager made a run for this very schedule. Any client can write the owner, but only the manager the label.
func isOf(run *v1alpha1.MotorRun, s *v1alpha1.MotorSchedule) bool {
	return run.Labels[v1alpha1.LabelSchedule] == s.Name && scheduleUIDOf(run) == string(s.UID)
}

func scheduleUIDOf(run *v1alpha1.MotorRun) string {
	ref := metav1.GetControllerOfNoCopy(run)
	if ref == nil || ref.Kind != "MotorSchedule" {
		return ""
	}
	if gv, err := schema.ParseGroupVersion(ref.APIVersion); err != nil || gv.Group != v1alpha1.GroupVersion.Group {
		return ""
	}
	return string(ref.UID)
}

// isActive reports whether a run has neither ended nor been deleted.
func isActive(run *v1alpha1.MotorRun) bool {
	return !pass.IsFinished(run) && run.DeletionTimestamp.IsZero()
}

// observe finds the runs of the schedule, and updates what the status says of them.
func (r *Reconciler) observe(ctx context.Context, s *look) error {
	var list v1alpha1.MotorRunList
	err := r.List(ctx, &list, client.InNamespace(s.schedule.Namespace), client.MatchingLabels{v1alpha1.LabelSchedule: s.schedule.Name}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return fmt.Errorf("list the runs of the schedule: %w", err)
	}
	for i := range list.Items {
		if run := &list.Items[i]; isOf(run, s.schedule) {
			s.runs = append(s.runs, run)
		}
	}
	if err := r.findUnseen(ctx, s); err != nil {
		return err
	}
	slices.SortFunc(s.runs, func(a, b *v1alpha1.MotorRun) int {
		return cmp.Or(cmp.Compare(len(a.Name), len(b.Name)), cmp.Compare(a.Name, b.Name))
	})
	st := &s.schedule.Status
	for _, run := range s.runs {
		// A leader that was killed after it made the run has not written this.
		if at := startOf(run, s.schedule.Name); !at.IsZero() {
			st.LastScheduleTime = later(st.LastScheduleTime, metav1.NewTime(at))
		}
		if done := run.Status.CompletionTime; done != nil && succeeded(run) {
			st.LastSuccessfulTime = later(st.LastSuccessfulTime, *done)
		}
	}
	return nil
}

// findUnseen adds the runs that the status has and the cache does not show, or not yet: Forbid must not take one for ended that has only begun.
func (r *Reconciler) findUnseen(ctx context.Context, s *look) error {
	for _, a := range s.schedule.Status.Active {
		if slices.ContainsFunc(s.runs, func(run *v1alpha1.MotorRun) bool { return run.UID == a.UID }) {
			continue
		}
		run := &v1alpha1.MotorRun{}
		err := r.Live.Get(ctx, client.ObjectKey{Namespace: s.schedule.Namespace, Name: a.Name}, run)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("read a run of the schedule: %w", err)
		}
		if err == nil && isOf(run, s.schedule) {
			s.runs = append(s.runs, run)
		}
	}
	return nil
}

// startOf returns the start that a run began for, the zero time if it does not say so. Who may change the run can change what it says, but not its name:
// a start of another year would keep all runs from beginning until then.
func startOf(run *v1alpha1.MotorRun, name string) time.Time {
	at, err := time.Parse(time.RFC3339, run.Annotations[v1alpha1.AnnotationScheduledAt])
	if err != nil || schedule.RunName(name, at) != run.Name {
		return time.Time{}
	}
	return at.UTC()
}

func succeeded(run *v1alpha1.MotorRun) bool {
	return apimeta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionSucceeded)
}

func later(known *metav1.Time, t metav1.Time) *metav1.Time {
	if known != nil && !known.Time.Before(t.Time) {
		return known
	}
	return &t
}

// decide sets the plan and the decision, and reports whether there are any.
func (s *look) decide() bool {
	spec := &s.schedule.Spec
	plan, err := schedule.Parse(spec.Schedule, ptr.Deref(spec.TimeZone, ""))
	if err != nil {
		s.problem = &problem{v1alpha1.ReasonScheduleInvalid, fmt.Sprintf("No run begins: %v.", err)}
		return false
	}
	if plan.Next(s.Now).IsZero() {
		s.problem = &problem{v1alpha1.ReasonScheduleNeverFires, fmt.Sprintf("No run begins: in the next five years there is no such time as spec.schedule %q says.", spec.Schedule)}
		return false
	}
	s.plan = plan
	f := schedule.Facts{
		Plan: plan, Created: s.schedule.CreationTimestamp.Time, Last: schedule.SettledUntil(&s.schedule.Status),
		Deadline: time.Duration(ptr.Deref(spec.StartingDeadlineSeconds, 0)) * time.Second,
		CatchUp:  spec.CatchUp, Policy: spec.ConcurrencyPolicy, Suspended: spec.Suspend, Active: len(s.active()),
	}
	s.decision = schedule.Decide(f, s.Now)
	return true
}

// active are the runs that have not ended.
func (s *look) active() []*v1alpha1.MotorRun {
	return slices.DeleteFunc(slices.Clone(s.runs), func(run *v1alpha1.MotorRun) bool { return !isActive(run) })
}

// skip notes that a start does not take place.
func (s *look) skip(at time.Time, reason v1alpha1.SkipReason, why string) {
	known := s.schedule.Status.LastSkipped
	s.schedule.Status.LastSkipped = &v1alpha1.SkippedStart{Time: metav1.NewTime(at), Reason: reason}
	if known != nil && known.Time.Time.Equal(at) {
		// It was told when it was found first.
		return
	}
	s.tell(corev1.EventTypeWarning, eventSkipped, fmt.Sprintf("The start of %s does not take place: %s", stamp(at), why))
}

func (s *look) tell(kind, reason, note string) {
	s.told = append(s.told, pass.NewTransition(kind, reason, actionStart, note))
}

// show sets the status of the schedule but for its runs.
func (s *look) show() {
	st := &s.schedule.Status
	st.ObservedGeneration, st.NextScheduleTime = s.schedule.Generation, nil
	if s.plan != nil && !s.schedule.Spec.Suspend && !s.decision.Next.IsZero() {
		st.NextScheduleTime = new(metav1.NewTime(s.decision.Next))
		// A start that is far away is looked at once more in between: see longest.
		s.Wake(s.decision.Next)
		s.Wake(s.Now.Add(longest))
	}
	st.Active = nil
	active := s.active()
	for _, run := range active[max(0, len(active)-maxActive):] {
		st.Active = append(st.Active, v1alpha1.ActiveRun{Name: run.Name, UID: run.UID})
	}
	if status, p, keep := s.verdict(); !keep {
		s.SetCondition(&st.Conditions, s.schedule.Generation, v1alpha1.ScheduleReady, status, p.reason, p.message)
	}
	// The API server's answers have what a template says.
	text.ShowAll(st)
}

// verdict is what the condition says. keep is true if it stays as it is: a refusal is that of the last start, until another one takes place or a
// client changes the schedule.
func (s *look) verdict() (status metav1.ConditionStatus, p problem, keep bool) {
	known := apimeta.FindStatusCondition(s.schedule.Status.Conditions, v1alpha1.ScheduleReady)
	switch {
	case s.problem != nil && s.plan == nil:
		return metav1.ConditionFalse, *s.problem, false
	case s.schedule.Spec.Suspend:
		return metav1.ConditionFalse, problem{v1alpha1.ReasonScheduleSuspended, "No run begins: spec.suspend is true."}, false
	case s.problem != nil:
		return metav1.ConditionFalse, *s.problem, false
	case s.decision.ClockWentBack:
		return metav1.ConditionFalse, problem{v1alpha1.ReasonClockWentBack, fmt.Sprintf(
			"No run begins before %s, the time of the last start, which is later than now: the clock was or is wrong. Set it, or create the schedule anew.",
			stamp(schedule.SettledUntil(&s.schedule.Status)))}, false
	case !s.began && known != nil && known.ObservedGeneration == s.schedule.Generation && isOfAStart(known.Reason):
		return known.Status, problem{}, true
	}
	return metav1.ConditionTrue, problem{v1alpha1.ReasonScheduled, "The next run begins at status.nextScheduleTime."}, false
}

// isOfAStart reports whether a reason is about the last start, and not about what the schedule says.
func isOfAStart(reason string) bool {
	switch reason {
	case v1alpha1.ReasonRequesterForbidden, v1alpha1.ReasonRunRefused, v1alpha1.ReasonRunNameTaken:
		return true
	}
	return false
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// The Events of a schedule, beside those of its condition.
const (
	eventStarted  = "RunStarted"
	eventReplaced = "RunReplaced"
	eventSkipped  = "StartSkipped"
	actionStart   = "StartRun"
)

// transitions are the Events of the pass.
func (s *look) transitions() []pass.Transition {
	_, is := pass.ChangedCondition(s.before.Status.Conditions, s.schedule.Status.Conditions, v1alpha1.ScheduleReady)
	told := s.told
	if is != nil && is.Status == metav1.ConditionFalse && is.Reason != v1alpha1.ReasonScheduleSuspended {
		told = append(told, pass.NewTransition(corev1.EventTypeWarning, is.Reason, actionStart, is.Message))
	}
	return told
}
