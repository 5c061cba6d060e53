// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// A change of a template is looked at by the schedules that name it, and by no others: each pass reads past the cache.
func TestAChangeOfATemplateIsLookedAtByItsSchedulesAlone(t *testing.T) {
	t.Parallel()
	uses := func(namespace, name, template string) *v1alpha1.MotorSchedule {
		return hourly(func(s *v1alpha1.MotorSchedule) {
			s.Namespace, s.Name = namespace, name
			if template != "" {
				s.Spec.RunTemplate, s.Spec.RunTemplateRef = nil, &v1alpha1.RunTemplateRef{Name: template}
			}
		})
	}
	r := newRig(t, uses("ns", "hourly", "report"), uses("ns", "own", ""), uses("ns", "other", "another"), uses("elsewhere", "hourly", "report"))
	reconcile := func(namespace, name string) {
		t.Helper()
		if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: namespace, Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
	wantUsers := func(template string, want int) {
		t.Helper()
		got := r.templates.schedulesOf(t.Context(), &v1alpha1.MotorRunTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: template}})
		if len(got) != want || want > 0 && (got[0].Namespace != "ns" || got[0].Name != "hourly") {
			t.Errorf("%s: %v, want %d", template, got, want)
		}
	}
	for _, name := range []string{"hourly", "own", "other"} {
		reconcile("ns", name)
	}
	reconcile("elsewhere", "hourly")
	wantUsers("report", 1)
	wantUsers("unused", 0)

	// It names another one now.
	s := &v1alpha1.MotorSchedule{}
	if err := r.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "hourly"}, s); err != nil {
		t.Fatal(err)
	}
	s.Spec.RunTemplateRef.Name = "second"
	if err := r.Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	reconcile("ns", "hourly")
	wantUsers("report", 0)
	wantUsers("second", 1)
	if err := r.Delete(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	reconcile("ns", "hourly")
	wantUsers("second", 0)
	if len(r.templates.of) != 2 || len(r.templates.users) != 2 {
		t.Errorf("schedules that are gone are kept: %v, %v", r.templates.of, r.templates.users)
	}
}
