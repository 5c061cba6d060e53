// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/credential"
	"motorcortex.dev/motorcortex/internal/objects"
	"motorcortex.dev/motorcortex/internal/runtemplate"
	"motorcortex.dev/motorcortex/internal/schedule"
)

// prepare builds the run that begins at each start, or sets the problem.
func (r *Reconciler) prepare(ctx context.Context, s *look) error {
	t, templateName := s.schedule.Spec.RunTemplate, ""
	if ref := s.schedule.Spec.RunTemplateRef; ref != nil {
		var err error
		if t, err = r.expand(ctx, s, ref); err != nil || t == nil {
			return err
		}
		templateName = ref.Name
	}
	if t == nil {
		s.problem = &problem{v1alpha1.ReasonTemplateInvalid, "The schedule has neither spec.runTemplate nor spec.runTemplateRef."}
		return nil
	}
	if runtemplate.Exposes(t) {
		s.problem = &problem{v1alpha1.ReasonTemplateInvalid, "A credential of a schedule is bound to hosts: exposeToSandbox is decided for each run."}
		return nil
	}
	s.run = runtemplate.Run(t)
	s.run.Namespace = s.schedule.Namespace
	s.run.Spec.Requester = s.schedule.Spec.Requester.DeepCopy()
	if s.run.Labels == nil {
		s.run.Labels = map[string]string{}
	}
	s.run.Labels[v1alpha1.LabelSchedule], s.run.Labels[v1alpha1.LabelManagedBy] = s.schedule.Name, v1alpha1.ManagedBy
	if templateName != "" {
		runtemplate.Annotate(s.run, v1alpha1.AnnotationTemplate, templateName)
	}
	s.run.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(s.schedule, v1alpha1.GroupVersion.WithKind("MotorSchedule"))}
	return nil
}

// expand reads the template and puts the values into it. It returns nil and sets the problem if it cannot.
func (r *Reconciler) expand(ctx context.Context, s *look, ref *v1alpha1.RunTemplateRef) (*v1alpha1.RunTemplate, error) {
	template := &v1alpha1.MotorRunTemplate{}
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: s.schedule.Namespace, Name: ref.Name}, template)
	switch {
	case apierrors.IsNotFound(err):
		s.problem = &problem{v1alpha1.ReasonTemplateNotFound, fmt.Sprintf("There is no MotorRunTemplate %s in the namespace.", ref.Name)}
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the template of the schedule: %w", err)
	}
	digest, err := runtemplate.Digest(&template.Spec)
	if err != nil {
		return nil, err
	}
	if p := unconfirmed(s.schedule, template, digest); p != nil {
		s.problem = p
		return nil, nil
	}
	values := map[string]string{}
	for _, p := range ref.Parameters {
		values[p.Name] = p.Value
	}
	t, err := runtemplate.Expand(&template.Spec, values)
	if err != nil {
		s.problem = &problem{v1alpha1.ReasonTemplateInvalid, fmt.Sprintf("The template %s makes no run: %v.", ref.Name, err)}
		return nil, nil
	}
	return t, nil
}

// unconfirmed returns why the template is not known for the one that the writer of the schedule meant, nil if it is. Without this check who may write a
// template could have anything done in the name of who wrote the schedule.
func unconfirmed(s *v1alpha1.MotorSchedule, t *v1alpha1.MotorRunTemplate, digest string) *problem {
	const check = "Look at it, and set spec.runTemplateRef.digest to %s."
	ref := s.Spec.RunTemplateRef
	switch writer, owner := nameOf(t.Spec.Requester), nameOf(s.Spec.Requester); {
	case ref.Digest == digest:
		return nil
	case ref.Digest != "":
		return &problem{v1alpha1.ReasonTemplateUnconfirmed, fmt.Sprintf(
			"The template %s has another content than spec.runTemplateRef.digest says. "+check, t.Name, digest)}
	case writer == "" || writer != owner:
		return &problem{v1alpha1.ReasonTemplateUnconfirmed, fmt.Sprintf(
			"Another user wrote the template %s than the schedule, so the schedule must say which content it means. "+check, t.Name, digest)}
	}
	return nil
}

func nameOf(r *v1alpha1.Requester) string {
	if r == nil {
		return ""
	}
	return r.Username
}

// settle carries the decision out: it starts the run, or notes why it does not begin.
func (r *Reconciler) settle(ctx context.Context, s *look) error {
	d := &s.decision
	switch {
	case !d.Skipped.IsZero() && d.Reason == v1alpha1.SkippedTooLate:
		s.skip(d.Skipped, d.Reason, "the time for it was over. spec.startingDeadlineSeconds and spec.catchUp say how late a start may be.")
		return nil
	case !d.Skipped.IsZero():
		s.skip(d.Skipped, d.Reason, "a run of the schedule has not ended, and spec.concurrencyPolicy is Forbid.")
		return nil
	case d.Start.IsZero():
		return nil
	}
	if s.problem == nil {
		p, err := r.mayNot(ctx, s.run)
		if err != nil {
			return err
		}
		s.problem = p
	}
	if s.problem != nil {
		s.skip(d.Start, v1alpha1.SkippedRefused, s.problem.message)
		return nil
	}
	return r.start(ctx, s)
}

// mayNot returns the right that the requester of a run lacks, nil if there is none. Admission asked for the same when the schedule was written: since
// then the right may have been taken back, or another template has been named.
func (r *Reconciler) mayNot(ctx context.Context, run *v1alpha1.MotorRun) (*problem, error) {
	who := nameOf(run.Spec.Requester)
	if who == "" {
		return &problem{v1alpha1.ReasonRequesterForbidden, "The schedule does not say who wrote it: write spec.requester."}, nil
	}
	rights := []authorizationv1.ResourceAttributes{{Verb: "create", Group: v1alpha1.GroupVersion.Group, Resource: "motorruns"}}
	for i := range run.Spec.Credentials {
		rights = append(rights, authorizationv1.ResourceAttributes{Verb: "use", Resource: "secrets", Name: run.Spec.Credentials[i].SecretRef.Name})
	}
	for _, right := range rights {
		may, err := credential.May(ctx, r.Reviews, run, right)
		if err != nil {
			return nil, err
		}
		if !may {
			return &problem{v1alpha1.ReasonRequesterForbidden, fmt.Sprintf(
				"%s, who wrote the schedule, lacks the right to %s %s %sin the namespace.", who, right.Verb, right.Resource, spaced(right.Name))}, nil
		}
	}
	return nil, nil
}

func spaced(name string) string {
	if name == "" {
		return ""
	}
	return name + " "
}

// start makes the run of a start.
func (r *Reconciler) start(ctx context.Context, s *look) error {
	run, at := s.run.DeepCopy(), s.decision.Start
	run.Name = schedule.RunName(s.schedule.Name, at)
	runtemplate.Annotate(run, v1alpha1.AnnotationScheduledAt, stamp(at))
	if s.decision.Replace {
		if err := r.replace(ctx, s, run.Name); err != nil {
			return err
		}
	}
	err := r.Create(ctx, run)
	if apierrors.IsAlreadyExists(err) {
		run, err = r.existing(ctx, s, run)
	}
	switch {
	case err == nil && run == nil:
		s.problem = &problem{v1alpha1.ReasonRunNameTaken, fmt.Sprintf("Another run has the name %s.", schedule.RunName(s.schedule.Name, at))}
		s.skip(at, v1alpha1.SkippedRefused, s.problem.message)
		return nil
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return nil
	case objects.Wrong(err):
		s.problem = &problem{v1alpha1.ReasonRunRefused, fmt.Sprintf("The API server refused the run: %v", err)}
		s.skip(at, v1alpha1.SkippedRefused, s.problem.message)
		return nil
	case objects.Refused(err):
		// A quota has room again later, and a webhook comes back: no watch tells that.
		s.problem = &problem{v1alpha1.ReasonRunRefused, fmt.Sprintf("The API server refused the run: %v", err)}
		s.Wake(s.Now.Add(pass.MaxPause))
		return nil
	case err != nil:
		return fmt.Errorf("create the run of the schedule: %w", err)
	}
	s.began = true
	s.schedule.Status.LastScheduleTime = new(metav1.NewTime(at))
	if skip := s.schedule.Status.LastSkipped; skip != nil && skip.Time.Time.Equal(at) {
		// It waited for another run, and takes place after all.
		s.schedule.Status.LastSkipped = nil
	}
	s.noteRun(run)
	s.tell(corev1.EventTypeNormal, eventStarted, startedNote(run.Name, &s.decision))
	return nil
}

// noteRun adds a run to those of the pass: the cache may show it later.
func (s *look) noteRun(run *v1alpha1.MotorRun) {
	for _, known := range s.runs {
		if known.UID == run.UID {
			return
		}
	}
	s.runs = append(s.runs, run)
}

func startedNote(name string, d *schedule.Decision) string {
	note := fmt.Sprintf("The run %s begins for the start of %s.", name, stamp(d.Start))
	switch {
	case d.Missed > schedule.ManyMissed:
		return fmt.Sprintf("%s More than %d starts before it were missed: set spec.startingDeadlineSeconds, or look at the clock.", note, schedule.ManyMissed)
	case d.Missed > 0:
		return fmt.Sprintf("%s Starts before it that were missed: %d.", note, d.Missed)
	}
	return note
}

// existing returns the run that has the name already, nil if it is not of the schedule.
func (r *Reconciler) existing(ctx context.Context, s *look, run *v1alpha1.MotorRun) (*v1alpha1.MotorRun, error) {
	there := &v1alpha1.MotorRun{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(run), there); err != nil {
		return nil, err
	}
	if !isOf(there, s.schedule) {
		return nil, nil
	}
	return there, nil
}

// replace deletes the runs that have not ended, but for one that begins now: a pass that was broken off may have made it.
func (r *Reconciler) replace(ctx context.Context, s *look, name string) error {
	for _, run := range s.active() {
		if run.Name == name {
			continue
		}
		uid := run.UID
		err := r.Delete(ctx, run, client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground))
		if client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
			return fmt.Errorf("delete a run of the schedule: %w", err)
		}
		s.drop(run)
		s.tell(corev1.EventTypeNormal, eventReplaced, fmt.Sprintf("The run %s was deleted, because the next one begins and spec.concurrencyPolicy is Replace.", run.Name))
	}
	return nil
}

// drop removes a run from those of the pass.
func (s *look) drop(run *v1alpha1.MotorRun) {
	var kept []*v1alpha1.MotorRun
	for _, known := range s.runs {
		if known != run {
			kept = append(kept, known)
		}
	}
	s.runs = kept
}
