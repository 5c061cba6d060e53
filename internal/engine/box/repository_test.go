// SPDX-License-Identifier: Apache-2.0

package box

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/enginetest"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// gitSandbox is a tool server that is asked for repositories.
type gitSandbox struct {
	features     []string
	refused      *toolapi.Error
	repositories atomic.Int32
}

func (s *gitSandbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != toolapi.PathRepository {
		_ = json.NewEncoder(w).Encode(toolapi.Hello{PodUID: "pod", APIVersion: toolapi.APIVersion, Features: s.features})
		return
	}
	s.repositories.Add(1)
	if s.refused != nil {
		w.WriteHeader(http.StatusInternalServerError)
		_ = json.NewEncoder(w).Encode(s.refused)
		return
	}
	_ = json.NewEncoder(w).Encode(toolapi.Repository{Made: true})
}

func repositoryBox(t *testing.T, sandbox *gitSandbox) *Box {
	t.Helper()
	env := &runenv.Env{Run: enginetest.ReadyRun(), Absence: &runenv.Absence{}, Log: slog.New(slog.DiscardHandler)}
	return &Box{Env: env, Client: enginetest.ToolsAt(t, sandbox)}
}

// A sandbox is asked for a repository if a tool of the run can use one, and if it knows the request.
func TestWhereARepositoryIsMade(t *testing.T) {
	t.Parallel()
	without := slices.DeleteFunc(slices.Clone(toolapi.Features()), func(f string) bool { return f == "POST "+toolapi.PathRepository })
	plain := func(*v1alpha1.MotorRun) {}
	for name, tt := range map[string]struct {
		tools    []v1alpha1.ToolName
		change   func(*v1alpha1.MotorRun)
		features []string
		want     int32
	}{
		"a shell":           {[]v1alpha1.ToolName{"read", "bash"}, plain, toolapi.Features(), 1},
		"code":              {[]v1alpha1.ToolName{"code"}, plain, toolapi.Features(), 1},
		"no program":        {[]v1alpha1.ToolName{"read", "write", "edit", "patch", "list", "glob", "grep", "fetch"}, plain, toolapi.Features(), 0},
		"no tool":           {nil, plain, toolapi.Features(), 0},
		"a review":          {[]v1alpha1.ToolName{"bash"}, func(r *v1alpha1.MotorRun) { r.Spec.SkillReview = true }, toolapi.Features(), 0},
		"code by itself":    {[]v1alpha1.ToolName{"bash"}, func(r *v1alpha1.MotorRun) { r.Spec.Mode = v1alpha1.ModeOneshot }, toolapi.Features(), 0},
		"packages":          {[]v1alpha1.ToolName{"bash"}, func(r *v1alpha1.MotorRun) { r.Spec.Mode = v1alpha1.ModeInstall }, toolapi.Features(), 0},
		"an older sandbox":  {[]v1alpha1.ToolName{"bash"}, plain, without, 0},
		"the first release": {[]v1alpha1.ToolName{"bash"}, plain, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sandbox := &gitSandbox{features: tt.features}
			box := repositoryBox(t, sandbox)
			box.Env.Run.Spec.Tools = tt.tools
			tt.change(box.Env.Run)
			// As Ready does.
			if _, err := box.Client.Hello(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := box.makeRepository(t.Context()); err != nil || sandbox.repositories.Load() != tt.want {
				t.Errorf("asked %d times, %v", sandbox.repositories.Load(), err)
			}
		})
	}
}

// A sandbox that refuses costs the run nothing.
func TestARepositoryThatIsRefused(t *testing.T) {
	t.Parallel()
	sandbox := &gitSandbox{features: toolapi.Features(), refused: &toolapi.Error{Code: toolapi.ErrInternal, Message: "no"}}
	box := repositoryBox(t, sandbox)
	box.Env.Run.Spec.Tools = []v1alpha1.ToolName{"bash"}
	if err := box.makeRepository(t.Context()); err != nil {
		t.Error(err)
	}
}
