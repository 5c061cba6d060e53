// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/schedule"
)

func TestUnconfirmed(t *testing.T) {
	t.Parallel()
	who := func(name string) *v1alpha1.Requester {
		if name == "" {
			return nil
		}
		return &v1alpha1.Requester{Username: name}
	}
	for name, tt := range map[string]struct{ owner, writer, pinned, want string }{
		"the same user":                      {"dana", "dana", "", ""},
		"another user":                       {"dana", "mallory", "", "Another user wrote the template"},
		"a template of nobody":               {"dana", "", "", "Another user wrote the template"},
		"neither is known":                   {"", "", "", "Another user wrote the template"},
		"that content of another user":       {"dana", "mallory", "sha256:is", ""},
		"another content of the same user":   {"dana", "dana", "sha256:was", "another content"},
		"another content of another user":    {"dana", "mallory", "sha256:was", "another content"},
		"that content of a user not known":   {"dana", "", "sha256:is", ""},
		"another content, users are unknown": {"", "", "sha256:was", "another content"},
	} {
		s := hourly(func(s *v1alpha1.MotorSchedule) {
			s.Spec.Requester, s.Spec.RunTemplateRef = who(tt.owner), &v1alpha1.RunTemplateRef{Name: "report", Digest: tt.pinned}
		})
		p := unconfirmed(s, &v1alpha1.MotorRunTemplate{Spec: v1alpha1.MotorRunTemplateSpec{Requester: who(tt.writer)}}, "sha256:is")
		switch {
		case tt.want == "" && p != nil:
			t.Errorf("%s: %+v", name, p)
		case tt.want != "" && (p == nil || !strings.Contains(p.message, tt.want) || !strings.Contains(p.message, "digest to sha256:is")):
			t.Errorf("%s: %+v, want %q", name, p, tt.want)
		}
	}
}

func TestStartedNote(t *testing.T) {
	t.Parallel()
	for missed, want := range map[int]string{
		0:                       "The run r begins for the start of 2026-01-02T12:00:00Z.",
		3:                       "Starts before it that were missed: 3.",
		schedule.ManyMissed:     "Starts before it that were missed: 100.",
		schedule.ManyMissed + 1: "More than 100 starts before it were missed",
	} {
		if got := startedNote("r", &schedule.Decision{Start: noon, Missed: missed}); !strings.Contains(got, want) {
			t.Errorf("%d: %q", missed, got)
		}
	}
}

func TestATemplateThatExposesACredentialBeginsNoRun(t *testing.T) {
	t.Parallel()
	r := newRig(t, hourly(func(s *v1alpha1.MotorSchedule) {
		s.Spec.RunTemplate.Spec.Credentials = []v1alpha1.Credential{{Name: "token", ExposeToSandbox: true}}
	}))
	r.pass()
	if _, reason, n := r.state(); n != 0 || reason != v1alpha1.ReasonTemplateInvalid {
		t.Errorf("%d runs, %s", n, reason)
	}
}

// A pass that was broken off may have made the run. Replace must not delete it for its own start.
func TestReplaceKeepsTheRunOfTheStart(t *testing.T) {
	t.Parallel()
	policy := func(s *v1alpha1.MotorSchedule) { s.Spec.ConcurrencyPolicy = v1alpha1.ConcurrencyReplace }
	made := runAt(noon, func(run *v1alpha1.MotorRun) { run.Annotations = nil })
	before := runAt(noon.Add(-time.Hour), func(run *v1alpha1.MotorRun) { run.Annotations = nil })
	r := newRig(t, hourly(policy), made, before)
	r.pass()
	st, _, n := r.state()
	if n != 1 || len(st.Active) != 1 || st.Active[0].UID != made.UID || st.LastScheduleTime == nil || !st.LastScheduleTime.Time.Equal(noon) {
		t.Errorf("%d runs, %+v", n, st)
	}
}

// A cache that does not show a run yet must not let the next one begin beside it.
func TestForbidKnowsARunThatTheCacheDoesNotShow(t *testing.T) {
	t.Parallel()
	began := runAt(noon.Add(-time.Hour))
	s := hourly(func(s *v1alpha1.MotorSchedule) {
		s.Spec.ConcurrencyPolicy, s.Status.Active = v1alpha1.ConcurrencyForbid, []v1alpha1.ActiveRun{{Name: began.Name, UID: began.UID}}
	})
	for name, tt := range map[string]struct {
		live  []client.Object
		began int
	}{
		"it goes on":           {[]client.Object{began.DeepCopy()}, 0},
		"it is over":           {[]client.Object{runAt(noon.Add(-time.Hour), ended(noon, "True"))}, 1},
		"it is gone":           {nil, 1},
		"another has its name": {[]client.Object{runAt(noon.Add(-time.Hour), func(run *v1alpha1.MotorRun) { run.Labels = nil })}, 1},
	} {
		r := newRig(t, s.DeepCopy())
		r.Live = newRig(t, append(tt.live, s.DeepCopy())...).Client
		r.pass()
		if _, _, n := r.state(); n != tt.began {
			t.Errorf("%s: %d runs began", name, n)
		}
	}
}
