// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// loses lets a revision go.
func loses(letter string) step {
	return func(w *world) {
		w.Revisions = slices.DeleteFunc(w.Revisions, func(r v1alpha1.SkillRevision) bool { return r.Name == "mail-"+letter })
	}
}

// atOnce lets all revisions be made in the same second.
func atOnce(w *world) {
	for i := range w.Revisions {
		w.Revisions[i].CreationTimestamp = metav1.NewTime(t0)
	}
}

func TestUndecided(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		steps []step
		// want are the letters of those that wait, the oldest first.
		want string
	}{
		"nothing":                         {nil, ""},
		"of the source":                   {[]step{gives("a"), gives("b")}, ""},
		"of runs":                         {[]step{gives("a"), proposes("c"), proposes("b")}, "cb"},
		"one is rejected":                 {[]step{proposes("a"), proposes("b"), proposes("c"), rejects("b")}, "ac"},
		"one is approved":                 {[]step{proposes("a"), proposes("b"), proposes("c"), approves("b")}, "c"},
		"one is approved, and revoked":    {[]step{proposes("a"), proposes("b"), proposes("c"), approves("b"), revokes}, "c"},
		"what they began with":            {[]step{gives("a"), approves("a"), proposes("b")}, "b"},
		"the source goes on":              {[]step{proposes("a"), gives("b"), approves("b")}, ""},
		"back to an older one":            {[]step{gives("a"), proposes("b"), proposes("c"), approves("c"), approves("a")}, ""},
		"back, and one more":              {[]step{gives("a"), proposes("b"), proposes("c"), approves("b"), approves("a"), proposes("d")}, "cd"},
		"back, and the newest is gone":    {[]step{proposes("a"), proposes("b"), proposes("c"), approves("c"), approves("a"), loses("c")}, ""},
		"in the same second":              {[]step{proposes("a"), proposes("b"), proposes("c"), atOnce, approves("b"), withdraws}, "c"},
		"approved is what nobody has":     {[]step{proposes("a"), approves("z")}, "a"},
		"the approval is taken away":      {[]step{proposes("a"), proposes("b"), approves("b"), withdraws}, ""},
		"rejected, and approved all same": {[]step{proposes("a"), rejects("a"), approves("a")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			for _, s := range tt.steps {
				s(w)
				w.look()
			}
			got := ""
			for _, r := range Undecided(w.Spec, w.Status, w.Revisions) {
				got += strings.TrimPrefix(r.Name, "mail-")
			}
			if got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestAwaitsDecision(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		steps []step
		want  bool
	}{
		"new":                 {nil, true},
		"proposed":            {[]step{proposes("a")}, true},
		"approved":            {[]step{proposes("a"), approves("a")}, false},
		"revoked":             {[]step{proposes("a"), approves("a"), revokes}, false},
		"rejected":            {[]step{proposes("a"), rejects("a")}, false},
		"the approval is off": {[]step{proposes("a"), approves("a"), withdraws}, false},
	} {
		w := newWorld()
		for _, s := range tt.steps {
			s(w)
			w.look()
		}
		if got := AwaitsDecision(&v1alpha1.Skill{Spec: *w.Spec, Status: *w.Status}); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
