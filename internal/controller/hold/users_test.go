// SPDX-License-Identifier: Apache-2.0

package hold

import (
	"maps"
	"slices"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestRunsThatHaveEndedUseNothing(t *testing.T) {
	t.Parallel()
	other := runOf("other", "post-1", false)
	other.Status.Skill.Name = "post"
	elsewhere := runOf("elsewhere", "mail-5", false)
	elsewhere.Namespace = "other"
	objects := []client.Object{
		runOf("one", "mail-1", false), runOf("two", "mail-1", false), runOf("three", "mail-2", false), runOf("ended", "mail-3", true),
		runOf("waits", "", false), other, elsewhere,
	}
	for name, indexed := range map[string]bool{"with the index": true, "without it": false} {
		builder := fake.NewClientBuilder().WithScheme(testScheme(t)).WithObjects(objects...)
		if indexed {
			builder = builder.WithIndex(&v1alpha1.MotorRun{}, IndexSkill, func(o client.Object) []string { return SkillOf(o.(*v1alpha1.MotorRun)) })
		}
		names, err := InUse(t.Context(), builder.Build(), indexed, client.ObjectKey{Namespace: "ns", Name: "mail"})
		if got := slices.Sorted(maps.Keys(names)); err != nil || !slices.Equal(got, []string{"mail-1", "mail-2"}) {
			t.Errorf("%s: in use are %q, %v", name, got, err)
		}
	}
}

func TestEnds(t *testing.T) {
	t.Parallel()
	without, with, ended := runOf("run", "", false), runOf("run", "mail-1", false), runOf("run", "mail-1", true)
	endedWithout := runOf("run", "", true)
	for name, tt := range map[string]struct {
		before, after *v1alpha1.MotorRun
		want          bool
	}{
		"it begins to use one":     {without, with, false},
		"it goes on":               {with, with, false},
		"it ends":                  {with, ended, true},
		"it chooses again":         {with, without, true},
		"it ends unseen in use":    {without, ended, true},
		"it has ended":             {ended, ended, false},
		"it ends without a skill":  {without, endedWithout, true},
		"it has ended without one": {endedWithout, endedWithout, false},
	} {
		if got := Ends().Update(event.UpdateEvent{ObjectOld: tt.before, ObjectNew: tt.after}); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	for run, want := range map[*v1alpha1.MotorRun]bool{with: true, without: false, ended: false} {
		if got := Ends().Delete(event.DeleteEvent{Object: run}); got != want {
			t.Errorf("a run with %+v is deleted: %t", run.Status, got)
		}
		if Ends().Create(event.CreateEvent{Object: run}) || Ends().Generic(event.GenericEvent{Object: run}) {
			t.Error("a run that is there is selected")
		}
	}
}

func TestUses(t *testing.T) {
	t.Parallel()
	plain := revision("mail-1")
	asBefore := revision("mail-1", ownedBy("motorcortex.dev/v1alpha1", "MotorRun", "run", "uid-run"))
	for name, tt := range map[string]struct {
		run  *v1alpha1.MotorRun
		rev  *v1alpha1.SkillRevision
		want bool
	}{
		"its status names it":            {runOf("run", "mail-1", false), plain, true},
		"its status names another":       {runOf("run", "mail-2", false), plain, false},
		"its status names none":          {runOf("run", "", false), plain, false},
		"it has ended":                   {runOf("run", "mail-1", true), plain, false},
		"it is an owner":                 {runOf("run", "", false), asBefore, true},
		"it was an owner":                {runOf("run", "", true), asBefore, false},
		"another run is an owner":        {runOf("other", "", false), asBefore, false},
		"it is an owner and has another": {runOf("run", "mail-2", false), asBefore, true},
	} {
		if got := uses(tt.run, tt.rev); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
