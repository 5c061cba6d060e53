// SPDX-License-Identifier: Apache-2.0

package motor

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// A page that is too large is read in smaller ones, and the pages after it are as small.
func TestAPageThatIsTooLargeIsHalved(t *testing.T) {
	t.Parallel()
	var asked []string
	err := inPages(metav1.ListOptions{Limit: 10}, func(o metav1.ListOptions) (string, error) {
		asked = append(asked, fmt.Sprint(o.Limit, o.Continue))
		switch {
		case o.Limit > 3:
			return "", fmt.Errorf("read the body: %w", &http.MaxBytesError{Limit: 1})
		case o.Continue == "b":
			return "", nil
		case o.Continue == "a":
			return "b", nil
		}
		return "a", nil
	})
	if want := []string{"10", "5", "2", "2a", "2b"}; err != nil || !slices.Equal(asked, want) {
		t.Errorf("%v was asked for, want %v: %v", asked, want, err)
	}
}

// One object that is too large, another error and a list without an end are told.
func TestListsThatCannotBeReadEnd(t *testing.T) {
	t.Parallel()
	other, asked := errors.New("away"), 0
	for name, tt := range map[string]struct {
		err, want error
		most      int
	}{
		"one object is too large": {&http.MaxBytesError{}, &http.MaxBytesError{}, 20},
		"another error":           {other, other, 1},
		"no end":                  {nil, ErrTooMany, maxObjects / pageSize},
	} {
		asked = 0
		err := inPages(metav1.ListOptions{Limit: pageSize}, func(metav1.ListOptions) (string, error) { asked++; return "more", tt.err })
		if _, large := errors.AsType[*http.MaxBytesError](err); asked > tt.most || !errors.Is(err, tt.want) && !large {
			t.Errorf("%s: %v after %d requests", name, err, asked)
		}
	}
}

// What a list keeps has no contents of files: some hundred runs would take more memory than a server for many has.
func TestListsKeepNoContents(t *testing.T) {
	t.Parallel()
	run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "ns"}}
	run.Spec.Files = []v1alpha1.InputFile{{Path: "a.csv", Content: new("x")}}
	run.Spec.Responses = []v1alpha1.Response{{ID: "q", Answer: "yes", Files: []v1alpha1.ResponseFile{{Path: "b.csv", Content: new("x")}}}}
	inline := &v1alpha1.Skill{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "ns"}}
	inline.Spec.Source = &v1alpha1.SkillSource{Files: []v1alpha1.SkillFile{{Path: "SKILL.md", Content: "x"}}}
	r := newRig(t, run, inline, &v1alpha1.Skill{ObjectMeta: metav1.ObjectMeta{Name: "b", Namespace: "ns"}})
	runs, _, err := r.Runs(t.Context(), "", 10)
	if err != nil || len(runs) != 1 || len(runs[0].Spec.Files) != 1 || runs[0].Spec.Files[0].Content != nil || runs[0].Spec.Responses[0].Files != nil {
		t.Errorf("%+v, %v", runs, err)
	}
	skills, total, err := r.Skills(t.Context(), 10)
	if err != nil || total != 2 || skills[0].Spec.Source.Files != nil {
		t.Errorf("%+v, %v", skills, err)
	}
}
