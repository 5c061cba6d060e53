// SPDX-License-Identifier: Apache-2.0

package fit

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

func TestShowArtifacts(t *testing.T) {
	t.Parallel()
	if shown, omitted := ShowArtifacts(nil); shown != nil || omitted != 0 {
		t.Errorf("of nothing it shows %v and %d", shown, omitted)
	}
	few := &v1alpha1.ArtifactList{Omitted: 2, Files: []v1alpha1.Artifact{{Path: "a", Skipped: v1alpha1.SkippedTooLarge}, {Path: "b", ConfigMapName: "c"}}}
	shown, omitted := ShowArtifacts(few)
	if diff := cmp.Diff(few.Files, shown); diff != "" || omitted != 2 {
		t.Errorf("%d omitted:\n%s", omitted, diff)
	}
	full := manyArtifacts()
	shown, omitted = ShowArtifacts(full)
	b, err := json.Marshal(shown)
	if err != nil || len(b) > MaxListedBytes+2 || len(b) < MaxListedBytes/2 {
		t.Errorf("they take %d bytes (%v)", len(b), err)
	}
	if int(omitted-full.Omitted)+len(shown) != len(full.Files) {
		t.Errorf("%d are shown and %d omitted", len(shown), omitted)
	}
	if !slices.IsSortedFunc(shown, func(a, b v1alpha1.Artifact) int { return strings.Compare(a.Path, b.Path) }) {
		t.Error("they are not in order")
	}
	crowded := &v1alpha1.ArtifactList{}
	for i := range toolapi.MaxArtifacts - 1 {
		crowded.Files = append(crowded.Files, v1alpha1.Artifact{Path: fmt.Sprintf("a%d", i), Skipped: v1alpha1.SkippedNotStored, Message: strings.Repeat("m", 256)})
	}
	crowded.Files = append(crowded.Files, v1alpha1.Artifact{Path: "z", ConfigMapName: "c"})
	if shown, _ := ShowArtifacts(crowded); shown[len(shown)-1].Path != "z" || len(shown) == len(crowded.Files) {
		t.Errorf("what is not kept takes the room of what is: %d are shown", len(shown))
	}
}

func TestArtifactInput(t *testing.T) {
	t.Parallel()
	list := []v1alpha1.Artifact{
		{Path: "a", ConfigMapName: "c", Size: toolapi.MaxFileBytes}, {Path: "b", ObjectKey: "o", Size: toolapi.MaxInputBytes}, {Path: "large", ObjectKey: "o", Size: toolapi.MaxInputBytes + 1},
		{Path: "odd", ConfigMapName: "c", Size: toolapi.MaxFileBytes + 1},
		{Path: "leak", Skipped: v1alpha1.SkippedSecretFound},
	}
	running, ended, many := &v1alpha1.MotorRun{}, &v1alpha1.MotorRun{}, &v1alpha1.MotorRun{}
	running.Status.Artifacts = list
	ended.Status.Artifacts, ended.Status.Result = []v1alpha1.Artifact{{Path: "former", ConfigMapName: "f"}}, &v1alpha1.RunResult{Artifacts: list}
	many.Status.Result = &v1alpha1.RunResult{}
	for i := range 9 {
		many.Status.Result.Artifacts = append(many.Status.Result.Artifacts, v1alpha1.Artifact{Path: fmt.Sprintf("%d", i)})
	}
	none := &v1alpha1.MotorRun{}
	none.Status.Result = &v1alpha1.RunResult{}
	for name, tt := range map[string]struct {
		from   *v1alpha1.MotorRun
		path   string
		bucket bool
		want   string
	}{
		"kept":                {ended, "a", false, ""},
		"kept while it runs":  {running, "a", false, ""},
		"in the bucket":       {ended, "b", true, ""},
		"without the bucket":  {ended, "b", false, "--archive-bucket"},
		"too large":           {ended, "large", true, "has 67108865 bytes, and a file of a run may have 67108864"},
		"larger than objects": {ended, "odd", true, "has 1048577 bytes, and a file of a run may have 1048576"},
		"not kept":            {ended, "leak", true, "(SecretFound)"},
		"of a former pause":   {ended, "former", true, `it has "a", "b", "large", "odd", "leak"`},
		"many others":         {many, "x", true, `"4", and 4 more`},
		"none":                {none, "x", true, "it has left none behind"},
		"none so far":         {&v1alpha1.MotorRun{}, "x", true, "it has none so far"},
		"a name with a quote": {&v1alpha1.MotorRun{}, "x\"\n", true, `"x\"\n"`},
	} {
		a, problem := ArtifactInput(tt.from, tt.path, tt.bucket)
		if tt.want == "" && (problem != "" || a == nil || a.Path != tt.path) || !strings.Contains(problem, tt.want) {
			t.Errorf("%s: %+v, %q; want %q", name, a, problem, tt.want)
		}
	}
}

// manyArtifacts returns as many artifacts as are collected, of each kind as large as they can be.
func manyArtifacts() *v1alpha1.ArtifactList {
	list := &v1alpha1.ArtifactList{Omitted: 1 << 30}
	for i := range toolapi.MaxArtifacts {
		a := v1alpha1.Artifact{Path: fmt.Sprintf("artifacts/%02d%s", i, strings.Repeat("<", 2*i)), Size: 1 << 40}
		if i%3 == 0 {
			a.Skipped, a.Message = v1alpha1.SkippedUnreadable, strings.Repeat("\"", 256)
		} else {
			a.MediaType, a.SHA256, a.Provenance = "application/octet-stream", strings.Repeat("0", 64), "Internal"
			a.ConfigMapName = strings.Repeat("r", 48) + "-artifact-" + strings.Repeat("0", 20)
		}
		list.Files = append(list.Files, a)
	}
	return list
}
