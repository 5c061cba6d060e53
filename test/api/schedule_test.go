// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/schedule"
)

func TestARunBeginsAtItsTimeInTheNameOfWhoWroteTheSchedule(t *testing.T) {
	r := newScheduleRig(t, nil)
	r.create()
	result := r.step()
	r.wantRuns(0)
	r.wantReady(metav1.ConditionTrue, v1alpha1.ReasonScheduled)
	if result.RequeueAfter <= 0 || result.RequeueAfter > time.Hour+time.Second {
		t.Errorf("it is looked at again after %s", result.RequeueAfter)
	}
	r.hours(1)
	r.step()
	run := r.wantRuns(1)[0]
	s := r.schedule()
	if run.Name != schedule.RunName(s.Name, r.now) || run.Spec.Requester == nil || run.Spec.Requester.Username != "dana-"+r.ns || run.Spec.Origin != v1alpha1.OriginCreated {
		t.Errorf("%s, requester %+v, origin %q", run.Name, run.Spec.Requester, run.Spec.Origin)
	}
	if run.Spec.Task != "count the words" || run.Labels["team"] != "a" || run.Spec.MaxAttempts != 3 || !metav1.IsControlledBy(&run, s) {
		t.Errorf("%+v", run)
	}
	if s.Status.LastScheduleTime == nil || !s.Status.LastScheduleTime.Time.Equal(r.now) || len(s.Status.Active) != 1 || s.Status.Active[0].UID != run.UID {
		t.Errorf("%+v", s.Status)
	}
	if next := s.Status.NextScheduleTime; next == nil || !next.Time.Equal(r.now.Add(time.Hour)) {
		t.Errorf("the next start is %v", next)
	}
	r.now = r.now.Add(10 * time.Minute)
	r.end(&run, metav1.ConditionTrue)
	r.step()
	if st := r.schedule().Status; len(st.Active) != 0 || st.LastSuccessfulTime == nil || !st.LastSuccessfulTime.Time.Equal(r.now) {
		t.Errorf("after its end: %+v", st)
	}
	if !slices.Contains(r.events, "Normal RunStarted") || len(r.events) != 1 {
		t.Errorf("%v", r.events)
	}
}

// A manager that is killed between the two writes, and the next one whose cache shows nothing yet, begin one run together.
func TestARestartAfterARunWasCreatedBeginsNoSecondOne(t *testing.T) {
	r := newScheduleRig(t, nil)
	r.create()
	r.hours(1)
	r.breakOff = true
	if _, err := r.rec.Reconcile(r.ctx, ctrl.Request{NamespacedName: r.key}); err == nil {
		t.Fatal("the write of the status did not fail")
	}
	r.wantRuns(1)
	r.breakOff, r.hide = false, true
	r.pass(r.rec)
	r.hide = false
	run := r.wantRuns(1)[0]
	if st := r.schedule().Status; st.LastScheduleTime == nil || len(st.Active) != 1 || st.Active[0].UID != run.UID {
		t.Errorf("%+v", st)
	}
	r.step()
	r.wantRuns(1)
}

// The run of a start that the status does not know is found by what it says.
func TestAStartThatWasNotRecordedIsFoundByItsRun(t *testing.T) {
	r := newScheduleRig(t, nil)
	r.create(func(s *v1alpha1.MotorSchedule) { s.Spec.ConcurrencyPolicy = v1alpha1.ConcurrencyReplace })
	r.hours(1)
	r.breakOff = true
	if _, err := r.rec.Reconcile(r.ctx, ctrl.Request{NamespacedName: r.key}); err == nil {
		t.Fatal("the write of the status did not fail")
	}
	uid := r.wantRuns(1)[0].UID
	r.breakOff = false
	r.step()
	if run := r.wantRuns(1)[0]; run.UID != uid || r.schedule().Status.LastScheduleTime == nil {
		t.Errorf("Replace replaced the run of the same start: %+v", r.schedule().Status)
	}
}

func TestConcurrencyPolicies(t *testing.T) {
	for _, policy := range []v1alpha1.ConcurrencyPolicy{v1alpha1.ConcurrencyAllow, v1alpha1.ConcurrencyForbid, v1alpha1.ConcurrencyReplace} {
		t.Run(string(policy), func(t *testing.T) {
			r := newScheduleRig(t, nil)
			r.create(func(s *v1alpha1.MotorSchedule) { s.Spec.ConcurrencyPolicy = policy })
			r.hours(1)
			r.step()
			first := r.wantRuns(1)[0]
			r.hours(2)
			r.step()
			st := r.schedule().Status
			switch policy {
			case v1alpha1.ConcurrencyAllow:
				r.wantRuns(2)
				if len(st.Active) != 2 {
					t.Errorf("%+v", st)
				}
			case v1alpha1.ConcurrencyForbid:
				r.wantRuns(1)
				if st.LastSkipped == nil || st.LastSkipped.Reason != v1alpha1.SkippedStillActive || !slices.Contains(r.events, "Warning StartSkipped") {
					t.Errorf("%+v, %v", st, r.events)
				}
				r.now = r.now.Add(20 * time.Minute)
				r.end(&first, metav1.ConditionFalse)
				r.step()
				if runs := r.wantRuns(2); runs[1].Annotations[v1alpha1.AnnotationScheduledAt] != r.now.Truncate(time.Hour).UTC().Format(time.RFC3339) {
					t.Errorf("the start is not made up for: %+v", runs[1].Annotations)
				}
				if skip := r.schedule().Status.LastSkipped; skip != nil {
					t.Errorf("the start that took place counts as left out: %+v", skip)
				}
			case v1alpha1.ConcurrencyReplace:
				if run := r.wantRuns(1)[0]; run.UID == first.UID || len(st.Active) != 1 || !slices.Contains(r.events, "Normal RunReplaced") {
					t.Errorf("%+v, %v", st, r.events)
				}
			}
		})
	}
}

// Any client can name the schedule as the owner of a run. That keeps no run from beginning, and deletes none.
func TestARunThatOnlyClaimsToBeOfAScheduleDoesNotCount(t *testing.T) {
	r := newScheduleRig(t, nil)
	s := r.create(func(s *v1alpha1.MotorSchedule) { s.Spec.ConcurrencyPolicy = v1alpha1.ConcurrencyForbid })
	claims := newRun(r.ns, func(run *v1alpha1.MotorRun) {
		run.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(s, v1alpha1.GroupVersion.WithKind("MotorSchedule"))}
	})
	must(t, admin.Create(r.ctx, claims))
	labelled := newRun(r.ns, named("labelled"), func(run *v1alpha1.MotorRun) { run.Labels = map[string]string{v1alpha1.LabelSchedule: s.Name} })
	wantRefused(t, admin.Create(r.ctx, labelled), "labels motorcortex.dev/… of runs are the operator's")
	r.hours(1)
	r.step()
	r.wantRuns(2)
}

func TestANameThatAnotherRunHasIsSaid(t *testing.T) {
	r := newScheduleRig(t, nil)
	s := r.create()
	r.hours(1)
	must(t, admin.Create(r.ctx, newRun(r.ns, named(schedule.RunName(s.Name, r.now)))))
	r.step()
	r.wantRuns(1)
	r.wantReady(metav1.ConditionFalse, v1alpha1.ReasonRunNameTaken)
	r.hours(2)
	r.step()
	r.wantRuns(2)
	r.wantReady(metav1.ConditionTrue, v1alpha1.ReasonScheduled)
}

func TestHistoryLimits(t *testing.T) {
	r := newScheduleRig(t, nil)
	r.create(func(s *v1alpha1.MotorSchedule) {
		s.Spec.SuccessfulRunsHistoryLimit, s.Spec.FailedRunsHistoryLimit = new(int32(2)), new(int32(0))
	})
	var ended []v1alpha1.MotorRun
	for hour, succeeded := range []metav1.ConditionStatus{"True", "False", "True", "True"} {
		r.hours(hour + 1)
		r.pass(r.rec)
		for _, run := range r.runs() {
			if run.Status.CompletionTime == nil {
				r.end(&run, succeeded)
				ended = append(ended, run)
			}
		}
		r.pass(r.rec)
	}
	for i, want := range []bool{true, true, false, false} {
		if got := gone(r.ctx, t, &ended[i]); got != want {
			t.Errorf("run %d is gone: %t", i, got)
		}
	}
}

// What was missed while no manager was there is decided as for a CronJob.
func TestMissedStarts(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*v1alpha1.MotorScheduleSpec)
		runs   int
		says   string
	}{
		"the last one is made up for": {func(*v1alpha1.MotorScheduleSpec) {}, 1, "missed: 4"},
		"none is":                     {func(s *v1alpha1.MotorScheduleSpec) { s.CatchUp = v1alpha1.CatchUpNone }, 0, "the time for it was over"},
		"it is too late":              {func(s *v1alpha1.MotorScheduleSpec) { s.StartingDeadlineSeconds = new(int32(60)) }, 0, "the time for it was over"},
		"more than a hundred":         {func(s *v1alpha1.MotorScheduleSpec) { s.Schedule = "* * * * *" }, 1, "More than 100 starts"},
		"it was suspended":            {func(s *v1alpha1.MotorScheduleSpec) { s.Suspend = true }, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newScheduleRig(t, nil)
			r.create(func(s *v1alpha1.MotorSchedule) { tt.change(&s.Spec) })
			r.hours(5)
			r.now = r.now.Add(10 * time.Minute)
			r.step()
			r.wantRuns(tt.runs)
			if told := strings.Join(r.notes, "\n"); !strings.Contains(told, tt.says) || tt.says == "" && told != "" {
				t.Errorf("it says %q, want %q", told, tt.says)
			}
		})
	}
}

func TestAScheduleThatBeginsNoRunSaysWhy(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*v1alpha1.MotorScheduleSpec)
		reason string
	}{
		"it is suspended":         {func(s *v1alpha1.MotorScheduleSpec) { s.Suspend = true }, v1alpha1.ReasonScheduleSuspended},
		"there is no such day":    {func(s *v1alpha1.MotorScheduleSpec) { s.Schedule = "0 0 30 2 *" }, v1alpha1.ReasonScheduleNeverFires},
		"there is no such minute": {func(s *v1alpha1.MotorScheduleSpec) { s.Schedule = "61 * * * *" }, v1alpha1.ReasonScheduleInvalid},
		"it is every second":      {func(s *v1alpha1.MotorScheduleSpec) { s.Schedule = "@every 1s" }, v1alpha1.ReasonScheduleInvalid},
		"there is no template": {func(s *v1alpha1.MotorScheduleSpec) {
			s.RunTemplate, s.RunTemplateRef = nil, &v1alpha1.RunTemplateRef{Name: "report"}
		}, v1alpha1.ReasonTemplateNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			r := newScheduleRig(t, nil)
			r.create(func(s *v1alpha1.MotorSchedule) { tt.change(&s.Spec) })
			r.step()
			r.wantReady(metav1.ConditionFalse, tt.reason)
			r.hours(2)
			r.step()
			r.wantRuns(0)
		})
	}
}

// A clock that was a year ahead began a run. Now that it is right again, no start takes place twice, and the schedule says so.
func TestAClockThatWentBackIsSaid(t *testing.T) {
	r := newScheduleRig(t, nil)
	r.create()
	r.hours(24 * 365)
	r.step()
	r.wantRuns(1)
	r.hours(1)
	r.step()
	r.wantRuns(1)
	r.wantReady(metav1.ConditionFalse, v1alpha1.ReasonClockWentBack)
}

func TestSchedulesThatTheAPIServerRefuses(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	for want, change := range map[string]func(*v1alpha1.MotorSchedule){
		"schedule has the five fields of cron":  func(s *v1alpha1.MotorSchedule) { s.Spec.Schedule = "0 0 * *" },
		"not by TZ":                             func(s *v1alpha1.MotorSchedule) { s.Spec.Schedule = "TZ=UTC 0 0 * * *" },
		"a name of the time zone database":      func(s *v1alpha1.MotorSchedule) { s.Spec.TimeZone = new("Europe/Atlantis") },
		"timeZone is the name of a zone":        func(s *v1alpha1.MotorSchedule) { s.Spec.TimeZone = new("Local") },
		"one of runTemplate and runTemplateRef": func(s *v1alpha1.MotorSchedule) { s.Spec.RunTemplate = nil },
		"at most 39 characters":                 func(s *v1alpha1.MotorSchedule) { s.Name = strings.Repeat("a", 40) },
		"exposeToSandbox is decided for each run": func(s *v1alpha1.MotorSchedule) {
			usesSecret(&s.Spec.RunTemplate.Spec)
			c := &s.Spec.RunTemplate.Spec.Credentials[0]
			c.Hosts, c.ExposeToSandbox = nil, true
		},
		"labels motorcortex.dev/… are the operator's": func(s *v1alpha1.MotorSchedule) {
			s.Spec.RunTemplate.Metadata.Labels = map[string]string{v1alpha1.LabelRun: "a"}
		},
		"runs of mode Install are the operator's": func(s *v1alpha1.MotorSchedule) { s.Spec.RunTemplate.Spec.Mode = v1alpha1.ModeInstall },
		"an Agentic run needs a task":             func(s *v1alpha1.MotorSchedule) { s.Spec.RunTemplate.Spec.Task = "" },
		"inputs go with skillRef": func(s *v1alpha1.MotorSchedule) {
			s.Spec.RunTemplate.Spec.Inputs = []v1alpha1.RunInput{{Name: "a", Value: "b"}}
		},
		"bytes together in JSON": func(s *v1alpha1.MotorSchedule) {
			for _, path := range []string{"a", "b", "c"} {
				s.Spec.RunTemplate.Spec.Files = append(s.Spec.RunTemplate.Spec.Files, v1alpha1.InputFile{Path: path, Content: new(strings.Repeat("a", 200000))})
			}
		},
	} {
		wantRefused(t, admin.Create(ctx, newSchedule(ns, change)), want)
	}
}

// The spec of a run never changes, and that of its template may.
func TestTheTemplateOfAScheduleCanChange(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	s := newSchedule(newNamespace(ctx, t))
	must(t, admin.Create(ctx, s))
	s.Spec.RunTemplate.Spec = v1alpha1.RunTemplateSpec{
		Mode: v1alpha1.ModeOneshot, Code: &v1alpha1.Code{Language: "python", Source: "print(1)"},
		Sandbox: &v1alpha1.TemplateSandbox{RuntimeClassName: new("gvisor"), Resources: v1alpha1.TemplateResources{CPU: new(resource.MustParse("1"))}},
	}
	must(t, admin.Update(ctx, s))
	s.Spec.RunTemplate.Spec.Sandbox.Resources.CPU = new(resource.MustParse("2"))
	s.Spec.RunTemplate.Spec.Sandbox.RuntimeClassName = nil
	must(t, admin.Update(ctx, s))
}

// What the guide has people apply begins a run.
func TestTheSamplesOfASchedule(t *testing.T) {
	r := newScheduleRig(t, nil)
	for _, file := range []string{"template.yaml", "schedule.yaml"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "config", "samples", "body", file))
		must(t, err)
		o := fromYAML(t, r.ns, string(text))
		must(t, r.dana.Create(r.ctx, o, client.FieldValidation(metav1.FieldValidationStrict)))
		r.key, r.now = client.ObjectKeyFromObject(o), o.GetCreationTimestamp().Time
	}
	r.step()
	r.wantReady(metav1.ConditionTrue, v1alpha1.ReasonScheduled)
	r.now = r.schedule().Status.NextScheduleTime.Time
	r.step()
	if run := r.wantRuns(1)[0]; !strings.Contains(run.Spec.Task, "visitor of Bern") || !strings.Contains(run.Spec.Task, "in 100 words") {
		t.Errorf("%q", run.Spec.Task)
	}
}

// Until the status has a start, its run is the only record of it. A history of no run at all must not have the start take place again.
func TestAStartThatCannotBeRecordedTakesPlaceOnce(t *testing.T) {
	r := newScheduleRig(t, nil)
	r.create(func(s *v1alpha1.MotorSchedule) {
		s.Spec.SuccessfulRunsHistoryLimit, s.Spec.FailedRunsHistoryLimit = new(int32(0)), new(int32(0))
	})
	r.hours(1)
	r.breakOff = true
	uids := map[types.UID]bool{}
	for range 4 {
		_, _ = r.rec.Reconcile(r.ctx, ctrl.Request{NamespacedName: r.key})
		for _, run := range r.runs() {
			uids[run.UID] = true
			r.now = r.now.Add(10 * time.Second)
			r.end(&run, metav1.ConditionTrue)
		}
		_, _ = r.rec.Reconcile(r.ctx, ctrl.Request{NamespacedName: r.key})
	}
	if len(uids) != 1 {
		t.Errorf("one start had %d runs", len(uids))
	}
	r.wantRuns(1)
	r.breakOff = false
	r.pass(r.rec)
	r.wantRuns(0)
	r.step()
	if st := r.schedule().Status; st.LastScheduleTime == nil || len(r.runs()) != 0 {
		t.Errorf("%d runs, %+v", len(r.runs()), st)
	}
}

// Who may only annotate a schedule must not keep its starts from being recorded.
func TestAChangeOfAScheduleDuringAPassDoesNotKeepItsStartFromBeingRecorded(t *testing.T) {
	r := newScheduleRig(t, nil)
	r.create()
	r.hours(1)
	mallory := r.mallory()
	r.between = func() {
		must(t, merge(r.ctx, mallory, r.schedule(), `{"metadata":{"annotations":{"n":"`+rand.Text()+`"}}}`))
	}
	r.pass(r.rec)
	r.wantRuns(1)
	if st := r.schedule().Status; st.LastScheduleTime == nil || !st.LastScheduleTime.Time.Equal(r.now) || len(st.Active) != 1 {
		t.Errorf("%+v", st)
	}
}
