// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/cluster"
	"motorcortex.dev/motorcortex/internal/cli/schedule"
	"motorcortex.dev/motorcortex/internal/cli/verb"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func hourly(change ...func(*v1alpha1.MotorSchedule)) *v1alpha1.MotorSchedule {
	s := &v1alpha1.MotorSchedule{
		ObjectMeta: metav1.ObjectMeta{Name: "hourly", Namespace: "ns", UID: "uid"},
		Spec: v1alpha1.MotorScheduleSpec{
			Schedule: "0 * * * *", RunTemplate: &v1alpha1.RunTemplate{Spec: v1alpha1.RunTemplateSpec{Task: "count"}}, Requester: &v1alpha1.Requester{Username: "dana"},
		},
		Status: v1alpha1.MotorScheduleStatus{
			Active:           []v1alpha1.ActiveRun{{Name: "hourly-1"}, {Name: "hourly-2"}},
			LastScheduleTime: new(metav1.NewTime(now.Add(-4 * time.Minute))), NextScheduleTime: new(metav1.NewTime(now.Add(56 * time.Minute))),
			LastSkipped: &v1alpha1.SkippedStart{Time: metav1.NewTime(now.Add(-time.Hour)), Reason: v1alpha1.SkippedTooLate},
			Conditions:  []metav1.Condition{{Type: v1alpha1.ScheduleReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonScheduled, Message: "It \x1b[2J fires."}},
		},
	}
	for _, f := range change {
		f(s)
	}
	return s
}

// does runs a verb with these objects in the cluster.
func does(t *testing.T, line string, f interceptor.Funcs, objects ...client.Object) (code int, out, errs string) {
	t.Helper()
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(f).Build()
	var stdout, stderr strings.Builder
	s := verb.Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr}
	p := verb.Program(s, "kubectl-motor", "kubectl motor", "Test.", schedule.New(schedule.Command{
		Streams: s, Connect: func() (client.WithWatch, string, error) { return c, "ns", nil }, Now: func() time.Time { return now },
	}))
	code = verb.Run(t.Context(), p, strings.Fields("schedule "+line))
	return code, stdout.String(), stderr.String()
}

func TestList(t *testing.T) {
	t.Parallel()
	_, out, _ := does(t, "list", interceptor.Funcs{}, hourly(), hourly(func(s *v1alpha1.MotorSchedule) {
		s.Name, s.Spec.TimeZone, s.Status = "a", new("Europe/Berlin"), v1alpha1.MotorScheduleStatus{}
	}))
	const want = `NAME     SCHEDULE    ZONE            STATE       ACTIVE   LAST   NEXT IN
a        0 * * * *   Europe/Berlin               0
hourly   0 * * * *   UTC             Scheduled   2        4m     56m
`
	if out != want {
		t.Errorf("got\n%s", out)
	}
	if _, out, _ := does(t, "list -A -o name", interceptor.Funcs{}, hourly()); !strings.Contains(out, "hourly") {
		t.Errorf("%q", out)
	}
	if _, out, errs := does(t, "list", interceptor.Funcs{}); out != "" || errs != "There are no schedules.\n" {
		t.Errorf("%q, %q", out, errs)
	}
}

func TestGet(t *testing.T) {
	t.Parallel()
	code, out, _ := does(t, "get hourly", interceptor.Funcs{}, hourly())
	for _, part := range []string{
		"Schedule:     0 * * * * (UTC)\n", "Written by:   dana\n", "Last start:   2026-01-02T03:00:05Z\n", "Last skipped: 2026-01-02T02:04:05Z (TooLate)\n",
		"Next start:   2026-01-02T04:00:05Z\n", "Active runs:  hourly-1, hourly-2\n", "Ready:        True (Scheduled): It ",
	} {
		if !strings.Contains(out, part) {
			t.Errorf("it does not say %q:\n%s", part, out)
		}
	}
	if code != verb.ExitOK || strings.Contains(out, "\x1b") {
		t.Errorf("exit code %d, %q", code, out)
	}
	if code, _, errs := does(t, "get other", interceptor.Funcs{}, hourly()); code != verb.ExitFailed || !strings.Contains(errs, "there is no MotorSchedule other in the namespace ns") {
		t.Errorf("exit code %d, %s", code, errs)
	}
}

func TestSteer(t *testing.T) {
	t.Parallel()
	suspended := hourly(func(s *v1alpha1.MotorSchedule) { s.Spec.Suspend = true })
	schedules := schema.GroupResource{Group: "motorcortex.dev", Resource: "motorschedules"}
	for name, tt := range map[string]struct {
		line string
		is   *v1alpha1.MotorSchedule
		err  error
		code int
		says string
		sent string
	}{
		"suspend":          {"suspend hourly", hourly(), nil, 0, "motorschedule/hourly suspended", `{"metadata":{"uid":"uid"},"spec":{"suspend":true}}`},
		"resume":           {"resume hourly", suspended, nil, 0, "motorschedule/hourly resumed", `{"metadata":{"uid":"uid"},"spec":{"suspend":false}}`},
		"nothing to do":    {"resume hourly", hourly(), nil, 0, "note: hourly is not suspended", ""},
		"another schedule": {"suspend hourly", hourly(), apierrors.NewConflict(schedules, "hourly", errors.New("uid")), 1, "the schedule is gone", "x"},
		"no right":         {"suspend hourly", hourly(), apierrors.NewForbidden(schedules, "hourly", errors.New("no")), 1, "motorcortex-editor", "x"},
		"a policy":         {"suspend hourly", hourly(), apierrors.NewForbidden(schedules, "hourly", errors.New("p denied request: you may not")), 1, "was not suspended: you may not\n", "x"},
		"something else":   {"suspend hourly", hourly(), errors.New("no route"), 1, "ns/hourly was not suspended: no route", "x"},
		"no name":          {"suspend", hourly(), nil, 4, "the NAME of the schedule is missing", ""},
	} {
		var sent string
		code, out, errs := does(t, tt.line, interceptor.Funcs{
			Patch: func(_ context.Context, _ client.WithWatch, o client.Object, patch client.Patch, _ ...client.PatchOption) error {
				body, err := patch.Data(o)
				sent = string(body)
				return errors.Join(err, tt.err)
			},
		}, tt.is.DeepCopy())
		if code != tt.code || !strings.Contains(out+errs, tt.says) || tt.sent != "x" && sent != tt.sent {
			t.Errorf("%s: exit code %d, %q, sent %s", name, code, out+errs, sent)
		}
	}
}

func TestTrigger(t *testing.T) {
	t.Parallel()
	template := &v1alpha1.MotorRunTemplate{ObjectMeta: metav1.ObjectMeta{Name: "report", Namespace: "ns"}, Spec: v1alpha1.MotorRunTemplateSpec{
		Parameters:  []v1alpha1.TemplateParameter{{Name: "city", Required: true}},
		RunTemplate: v1alpha1.RunTemplate{Spec: v1alpha1.RunTemplateSpec{Task: "report on $(params.city)"}},
	}}
	of := func(digest string, values ...v1alpha1.ParameterValue) *v1alpha1.MotorSchedule {
		return hourly(func(s *v1alpha1.MotorSchedule) {
			s.Spec.RunTemplate, s.Spec.RunTemplateRef = nil, &v1alpha1.RunTemplateRef{Name: "report", Digest: digest, Parameters: values}
		})
	}
	bern := v1alpha1.ParameterValue{Name: "city", Value: "Bern"}
	for name, tt := range map[string]struct {
		line string
		is   *v1alpha1.MotorSchedule
		task string
		says string
	}{
		"its own run":      {"trigger hourly --name now", hourly(), "count", "motorrun/now\n"},
		"of a template":    {"trigger hourly --name now", of("", bern), "report on Bern", "motorrun/now\n"},
		"a value missing":  {"trigger hourly", of(""), "", `the parameter "city" needs a value`},
		"another content":  {"trigger hourly", of("sha256:00", bern), "", "has another content than sha256:00"},
		"neither of both":  {"trigger hourly", hourly(func(s *v1alpha1.MotorSchedule) { s.Spec.RunTemplate = nil }), "", "has neither"},
		"no such schedule": {"trigger other", hourly(), "", "there is no MotorSchedule other"},
	} {
		var made *v1alpha1.MotorRun
		code, out, errs := does(t, tt.line, interceptor.Funcs{
			Create: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
				made = o.DeepCopyObject().(*v1alpha1.MotorRun)
				return nil
			},
		}, tt.is, template.DeepCopy())
		if !strings.Contains(out+errs, tt.says) || (code == verb.ExitOK) != (made != nil) {
			t.Errorf("%s: exit code %d, %s%s", name, code, out, errs)
		}
		if made == nil {
			continue
		}
		// The run is that of the person, and none of the schedule.
		if made.Spec.Task != tt.task || made.Annotations[v1alpha1.AnnotationTriggeredFrom] != "hourly" || len(made.OwnerReferences)+len(made.Labels) > 0 || made.Spec.Requester != nil {
			t.Errorf("%s: %+v", name, made)
		}
	}
}
