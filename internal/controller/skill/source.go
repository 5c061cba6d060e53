// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/skill"
	skillsource "motorcortex.dev/motorcortex/internal/skill/source"
)

const (
	// sourcePeriod is the interval at which a tag, or an object of Flux, is looked up again.
	sourcePeriod = 10 * time.Minute
	// sourcePause is the first pause before a source that could not be read is tried again.
	sourcePause = time.Minute
)

// sourcePauseAfter returns the pause before a source is tried again, from the number of failures in a row.
func sourcePauseAfter(failures int) time.Duration {
	pause := sourcePause
	for range failures - 1 {
		if pause *= 2; pause >= sourcePeriod {
			return sourcePeriod
		}
	}
	return pause
}

// source reads spec.source if it can have changed since the last read, and ensures that a revision of its files exists.
func (r *Reconciler) source(ctx context.Context, s *scope) error {
	st := &s.skill.Status
	if s.skill.Spec.Source == nil {
		st.Source, s.read = nil, ""
		s.set(v1alpha1.ConditionSourceReady, metav1.ConditionFalse, v1alpha1.ReasonNoSource, "There is no source; revisions come from runs.")
		return nil
	}
	version, err := r.sourceVersion(ctx, s.skill)
	if err != nil {
		return err
	}
	if s.isRead(version) {
		if s.condition(v1alpha1.ConditionSourceReady).Status != metav1.ConditionTrue {
			return nil
		}
		if s.revision(st.Source.ContentHash) != nil {
			s.source = &skill.SourceState{ContentHash: st.Source.ContentHash}
			return nil
		}
	}
	if isRemote(s.skill.Spec.Source) {
		began := r.Now()
		try, ok := r.remoteReads.begin(s.skill.Namespace, began, maxRemoteReads, pass.MinPause)
		if !ok {
			s.Wake(try)
			return nil
		}
		defer func() {
			ended := r.Now()
			r.remoteReads.end(s.skill.Namespace, ended, ended.Sub(began), pass.MinPause)
		}()
	}
	s.read = version
	err = r.readSource(ctx, s)
	problem := sourceProblem(err)
	s.memory.failures++
	switch {
	case err == nil:
		s.memory.failures = 0
		s.set(v1alpha1.ConditionSourceReady, metav1.ConditionTrue, v1alpha1.ReasonSourceRead, "The source was read and is a skill."+leftOut(s.leftOut))
	case problem == nil:
		return err
	default:
		if problem.Cause != nil {
			ctrl.LoggerFrom(ctx).Info("the source of a skill cannot be read", "message", problem.Message, "cause", problem.Cause.Error())
		}
		s.sourceFailed(problem)
	}
	s.Wake(s.nextRead())
	return nil
}

// leftOut names files of a source that are no part of the skill.
func leftOut(paths []string) string {
	if len(paths) == 0 {
		return ""
	}
	return " What tools leave behind is no part of it: " + strings.Join(paths, ", ") + "."
}

// sourceVersion changes when inline files or ConfigMaps do. Changes in a registry or in Flux are not visible here.
func (r *Reconciler) sourceVersion(ctx context.Context, sk *v1alpha1.Skill) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "%d", sk.Generation)
	for _, c := range sk.Spec.Source.ConfigMaps {
		head, err := configMapHead(ctx, r.Heads, sk.Namespace, c.Name)
		if err != nil {
			return "", err
		}
		if head == nil {
			b.WriteString(" -")
			continue
		}
		fmt.Fprintf(&b, " %s/%s", head.UID, head.ResourceVersion)
	}
	return b.String(), nil
}

func isRemote(s *v1alpha1.SkillSource) bool { return s.OCI != nil || s.Flux != nil }

// isRead reports whether the status still describes the source. The memory is lost with the process. The next process then reads everything in the
// cluster once more, and nothing outside of it.
func (s *scope) isRead(version string) bool {
	c := s.condition(v1alpha1.ConditionSourceReady)
	if c == nil || c.ObservedGeneration != s.skill.Generation || c.Reason == v1alpha1.ReasonNoSource {
		return false
	}
	if isRemote(s.skill.Spec.Source) {
		at := s.nextRead()
		if s.skill.Status.Source == nil || !at.IsZero() && !s.Now.Before(at) {
			return false
		}
		s.Wake(at)
		return true
	}
	return version == s.memory.read
}

// nextRead returns when the source is read again although no watch reports a change, zero for never.
func (s *scope) nextRead() time.Time {
	c, src := s.condition(v1alpha1.ConditionSourceReady), s.skill.Spec.Source
	switch {
	case c.Reason == v1alpha1.ReasonSourceUnavailable && !isRemote(src):
		return s.Now.Add(sourcePause)
	case !isRemote(src), s.skill.Status.Source == nil, s.skill.Status.Source.ReadTime == nil:
		return time.Time{}
	case c.Reason == v1alpha1.ReasonSourceUnavailable:
		return s.skill.Status.Source.ReadTime.Add(sourcePauseAfter(s.memory.failures))
	case c.Status == metav1.ConditionTrue && src.OCI != nil && strings.Contains(src.OCI.Reference, "@"):
		// A digest is the same for ever.
		return time.Time{}
	}
	return s.skill.Status.Source.ReadTime.Add(sourcePeriod)
}

// readSource reads the files, checks that they are a skill, and stores them.
func (r *Reconciler) readSource(ctx context.Context, s *scope) error {
	src, err := r.wholeSource(ctx, s)
	if err != nil {
		return err
	}
	if isRemote(src) {
		if s.skill.Status.Source == nil {
			s.skill.Status.Source = &v1alpha1.SkillSourceStatus{}
		}
		s.skill.Status.Source.ReadTime = &metav1.Time{Time: s.Now}
	}
	read, err := r.Source.Read(ctx, s.skill.Namespace, src)
	if err != nil {
		return err
	}
	manifest, files, err := skill.Check(s.skill.Name, read.Files)
	if err != nil {
		return err
	}
	s.leftOut = manifest.LeftOut
	hash := skill.ContentHash(files)
	if s.revision(hash) == nil {
		spec := v1alpha1.SkillRevisionSpec{SkillName: s.skill.Name, Description: manifest.Description, Origin: read.Origin}
		if err := r.keep(ctx, s, spec, files); err != nil {
			return err
		}
	}
	st := &v1alpha1.SkillSourceStatus{ContentHash: hash, Origin: read.Origin}
	if isRemote(src) {
		st.ReadTime = s.skill.Status.Source.ReadTime
	}
	s.skill.Status.Source, s.source = st, &skill.SourceState{ContentHash: hash}
	return nil
}

// wholeSource returns spec.source with the contents of inline files, which the cache does not have.
func (r *Reconciler) wholeSource(ctx context.Context, s *scope) (*v1alpha1.SkillSource, error) {
	if len(s.skill.Spec.Source.Files) == 0 {
		return s.skill.Spec.Source, nil
	}
	live := &v1alpha1.Skill{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(s.skill), live); err != nil {
		return nil, fmt.Errorf("get the skill with its files: %w", err)
	}
	if live.UID != s.skill.UID || live.Generation != s.skill.Generation {
		return nil, errOldCache
	}
	return live.Spec.Source, nil
}

// keep stores files as a revision of the skill, or completes the partial revision with that content.
func (r *Reconciler) keep(ctx context.Context, s *scope, spec v1alpha1.SkillRevisionSpec, files []skill.File) error {
	rev, err := r.Store.Put(ctx, s.skill, spec, files)
	if err != nil {
		var status apierrors.APIStatus
		// A person must correct a quota, or a name that is taken; trouble with the API server is transient.
		refused := apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsRequestEntityTooLargeError(err)
		if errors.As(err, &status) && !refused || ctx.Err() != nil {
			return err
		}
		return &skillsource.Problem{Reason: v1alpha1.ReasonSourceUnavailable, Message: fmt.Sprintf("The files cannot be stored: %v.", err), Transient: true}
	}
	for i := range s.partial {
		if s.partial[i].UID == rev.UID {
			s.partial = append(s.partial[:i:i], s.partial[i+1:]...)
			break
		}
	}
	s.revisions = append(s.revisions, *rev)
	s.sort()
	return nil
}

// sourceProblem returns the problem for a person that an error describes, nil if it is one of the API server.
func sourceProblem(err error) *skillsource.Problem {
	var problem *skillsource.Problem
	var invalid *skill.Problem
	switch {
	case errors.As(err, &problem):
		return problem
	case errors.As(err, &invalid) && invalid.TooLarge:
		return &skillsource.Problem{Reason: v1alpha1.ReasonSkillTooLarge, Message: invalid.Error()}
	case errors.As(err, &invalid):
		return &skillsource.Problem{Reason: v1alpha1.ReasonSkillInvalid, Message: invalid.Error()}
	}
	return nil
}

// sourceFailed records why the source yields no skill now. The former result still counts.
func (s *scope) sourceFailed(p *skillsource.Problem) {
	c := s.condition(v1alpha1.ConditionSourceReady)
	reason, message := p.Reason, p.Message
	if p.Transient {
		reason, s.read = v1alpha1.ReasonSourceUnavailable, ""
		if c != nil && c.Reason == reason && c.ObservedGeneration == s.skill.Generation {
			// Errors of a network are worded anew each time.
			message = c.Message
		}
	}
	s.set(v1alpha1.ConditionSourceReady, metav1.ConditionFalse, reason, message)
}
