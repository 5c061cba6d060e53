// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/oneshot"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// neverFull are the fields of a status that Fit has no work with, and why.
var neverFull = map[string]string{
	"Archive":                "written when the run has ended: MaxStatusBytes leaves room for it",
	"Energy":                 "a few bytes, as numbers have",
	"Result.Packages":        "of a run of mode Install, which has nothing else",
	"Result.Value":           "comes on top of MaxStatusBytes where the rest needs that: see TestFitOfOneshot and TestFitOfAValue",
	"Result.NotCollected":    "stands in the place of what would be collected",
	"Skill.Packages.Message": "of packages that are not there",
	"Result.Skills.Created":  "shares its bound with Updated",
	"PendingInputs.Action":   "in the case of an approval",
	"PendingInputs.Attempt":  "a number",
	"PendingInputs.RaiseBy":  "a number and an amount, in the place of an action",
	"PendingInputs.Domain":   "shorter than a question",
	"PendingInputs.Step":     "bounded by the name of a run",
}

// A field that is new in the status is made as large as it can be in fullStatus, or neverFull explains why it need not be. Policies are bounded as
// a whole, an artifact is kept or skipped, and numbers, times and flags take a few bytes.
func TestFullStatusIsFull(t *testing.T) {
	t.Parallel()
	asks, ended := fullStatusWith(fullSkill()), fullStatus()
	ended.CompletionTime = new(metav1.NewTime(t0))
	ended.Result = &v1alpha1.RunResult{
		Artifacts: ended.Artifacts, ArtifactsOmitted: 3, Skills: fit.ShowSkills(fullSkills()), Summary: "s", Partial: "p", OK: true,
		Stats: v1alpha1.RunStats{DurationMilliseconds: 1},
	}
	ended.Ending = &v1alpha1.RunEnding{DecisionTime: *ended.CompletionTime, Reason: "R", Message: "m", Failure: ended.Attempts[8].Failure}
	var empty []string
	forEmpty(reflect.ValueOf(*asks), reflect.ValueOf(*ended), "", &empty)
	for _, path := range empty {
		field := path[strings.LastIndex(path, ".")+1:]
		small := slices.Contains([]string{"Estimated", "Unpriced", "Retryable", "OK", "StartTime"}, field)
		ofPolicy := strings.HasPrefix(path, "Skill.Policy.")
		ofArtifact := strings.Contains("."+path, ".Artifacts.")
		if neverFull[path] == "" && !small && !ofPolicy && !ofArtifact && !strings.HasPrefix(path, "Result.Stats.") {
			t.Errorf("status %s is never as large as it can be: say so in fullStatus, and what Fit leaves of it, or in neverFull why that is not needed", path)
		}
	}
}

// forEmpty names the fields that are empty in both.
func forEmpty(a, b reflect.Value, path string, empty *[]string) {
	for i := range a.NumField() {
		name, f, g := strings.TrimPrefix(path+"."+a.Type().Field(i).Name, "."), a.Field(i), b.Field(i)
		if f.IsZero() && g.IsZero() {
			*empty = append(*empty, name)
			continue
		}
		f, g = filled(f, g), filled(g, f)
		if f.Kind() == reflect.Struct && strings.HasPrefix(f.Type().PkgPath(), "motorcortex.dev/") {
			forEmpty(f, g, name, empty)
		}
	}
}

// filled returns what a value, or if it is empty the other one, has in it: the longest element of a list is its last one.
func filled(v, other reflect.Value) reflect.Value {
	if v.IsZero() {
		v = other
	}
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Slice && v.Len() > 0 {
		if v.Kind() == reflect.Pointer {
			v = v.Elem()
		} else {
			v = v.Index(max(0, v.Len()-2))
		}
	}
	return v
}

// The largest value of a Oneshot run goes with everything that such a run can have beside it.
func TestFitOfOneshot(t *testing.T) {
	t.Parallel()
	st := fullStatus()
	st.Attempts, st.Artifacts, st.PendingInputs = st.Attempts[9:], nil, nil
	st.CompletionTime = new(metav1.NewTime(t0))
	st.Result = &v1alpha1.RunResult{Value: strings.Repeat("<", oneshot.MaxQuotedBytes/6), Summary: strings.Repeat("s", 8192)}
	if !oneshot.Fits(st.Result.Value) {
		t.Fatal("the value is none that a run can have")
	}
	value := st.Result.Value
	fit.Fit(st)
	if n := jsonSize(st); st.Result.Value != value || n > fit.MaxStatusBytes+oneshot.MaxQuotedBytes {
		t.Errorf("of the value there are %d bytes, of the status %d", len(st.Result.Value), n)
	}
}

// The largest value of a model fits into the largest status of a run that has ended.
func TestFitOfAValue(t *testing.T) {
	t.Parallel()
	at := new(metav1.NewTime(t0))
	st := fullStatusWith(fullSkill())
	st.PendingInputs, st.CompletionTime, st.Artifacts = nil, at, nil
	st.Attempts[9].CompletionTime = at
	value := `["` + strings.Repeat("<", (toolapi.MaxFinishStored-20)/6) + `"]`
	if _, err := toolapi.ParseFinish(`{"status":"Succeeded","summary":"s","value":` + value + `}`); err != nil {
		t.Fatal(err)
	}
	artifacts, _ := fit.ShowArtifacts(fullArtifacts())
	st.Result = &v1alpha1.RunResult{Value: value, Summary: strings.Repeat("s", 8192), Artifacts: artifacts, Skills: fit.ShowSkills(fullSkills())}
	fit.Fit(st)
	if n := jsonSize(st); st.Result.Value != value || n > fit.MaxStatusBytes+toolapi.MaxFinishStored {
		t.Errorf("of the value there are %d bytes, of the status %d", len(st.Result.Value), n)
	}
}

// runConditions are those of the API that are of runs.
func TestRunConditions(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", "api", "v1alpha1", "conditions.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ofSkills := []string{"SourceReady", "PolicyValid", "Reviewed", "Approved", "PackagesReady", "Ready"}
	var all []string
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(s.Names[0].Name, "Condition") {
			all = append(all, strings.Trim(s.Values[0].(*ast.BasicLit).Value, `"`))
		}
		return true
	})
	all = slices.DeleteFunc(all, func(c string) bool { return slices.Contains(ofSkills, c) })
	want := slices.Sorted(slices.Values(runConditions))
	slices.Sort(all)
	if !slices.Equal(all, want) {
		t.Errorf("the conditions of runs are %q, and fullStatus has %q", all, want)
	}
}
