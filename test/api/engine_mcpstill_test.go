// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
)

func withBeats(run *v1alpha1.MotorRun) {
	run.Spec.Tools = []v1alpha1.ToolName{"read"} // Without bash there is nothing else in the background.
	withNotes(run)
	run.Spec.Files[0].Content = new(beatingServer)
}

func (r *engineRig) suspend(yes bool) {
	r.t.Helper()
	value := "false"
	if yes {
		value = "true"
	}
	must(r.t, jsonPatch(r.ctx, r.run.DeepCopy(), `[{"op":"add","path":"/spec/suspend","value":`+value+`}]`))
}

// The programs of MCP servers end as what runs in the background does. They begin again when the run goes on, and the model is told once.
func TestEngineEndsProgramsOfMCPServersOfARunThatStandsStill(t *testing.T) {
	for name, tt := range map[string]struct {
		still func(*engineRig, *v1alpha1.PendingInput)
		on    func(*engineRig, *v1alpha1.PendingInput)
		told  string
	}{
		"suspended": {
			func(r *engineRig, _ *v1alpha1.PendingInput) { r.suspend(true) },
			func(r *engineRig, _ *v1alpha1.PendingInput) { r.suspend(false) },
			"[the program of the MCP server notes was ended when the run was suspended, and begun again: what it had in memory is lost]\n",
		},
		"waits": {
			func(r *engineRig, _ *v1alpha1.PendingInput) {
				r.skipped.Store(int64(time.Duration(r.run.Spec.Limits.ActiveDeadlineSeconds) * time.Second))
				r.changeStatus(func(st *v1alpha1.MotorRunStatus) { st.Message = "The clock was set." })
			},
			func(*engineRig, *v1alpha1.PendingInput) {},
			"[the program of the MCP server notes was ended because the run waited long for a person, and begun again: what it had in memory is lost]\n",
		},
		"waits for a retry": {
			func(r *engineRig, _ *v1alpha1.PendingInput) {
				r.changeStatus(func(st *v1alpha1.MotorRunStatus) {
					st.PendingInputs = v1alpha1.PendingList(&v1alpha1.PendingInput{ID: "retry-1", Kind: v1alpha1.InputRetry, Attempt: new(int32(2)), AskTime: metav1.Now()})
				})
			},
			func(r *engineRig, asked *v1alpha1.PendingInput) {
				r.changeStatus(func(st *v1alpha1.MotorRunStatus) { st.PendingInputs = v1alpha1.PendingList(asked) })
			},
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newEngineRig(t, &stubModel{answers: []chat.Answer{
				says("", call("mcp__notes__note", `{}`)), says("", call("ask_user", `{"question":"Go on?"}`)),
				says("", call("mcp__notes__note", `{}`)), says("", call("mcp__notes__note", `{}`)), says("done"),
			}}, withBeats)
			r.startEngine("worker-1", nil)
			waitForFile(r.ctx, t, filepath.Join(r.workspace, "notes"))
			asked := r.pending()
			tt.still(r, asked)
			r.wantNoBeat()
			tt.on(r, asked)
			respond(r.ctx, t, r.run, asked.ID, "yes")
			steps := r.ended(5)
			for i, want := range []string{"noted\n" + tt.told, "noted\n"} {
				if got := resultAt(t, steps, 2+i, 0); !got.OK || got.Output != want {
					t.Errorf("%q, want %q", got.Output, want)
				}
			}
			r.wantNoBeat() // The attempt has ended, and the sandbox is there.
		})
	}
}

// A run that is suspended before its first step has programs of MCP servers, too: they begin while the model is asked.
func TestEngineEndsProgramsOfMCPServersBeforeTheFirstStep(t *testing.T) {
	goOn := make(chan struct{})
	r := newEngineRig(t, &stubModel{reply: func(chat.Request) chat.Answer {
		<-goOn
		return says("done")
	}}, withBeats)
	r.startEngine("worker-1", nil)
	waitForFile(r.ctx, t, filepath.Join(r.workspace, "beats"))
	r.suspend(true)
	close(goOn)
	r.wantNoBeat()
	if steps := r.steps(func([]v1alpha1.MotorStep) bool { return true }); len(steps) != 0 {
		t.Errorf("%d steps of a run that was suspended before its first", len(steps))
	}
	r.suspend(false)
	if steps := r.ended(1); !strings.Contains(steps[0].Spec.Content, "done") {
		t.Errorf("%+v", steps[0].Spec)
	}
}
