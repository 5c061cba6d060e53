// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
)

// asksForAFile has a run ask for a file after its first call.
func asksForAFile(then ...chat.Answer) *stubModel {
	return &stubModel{answers: append([]chat.Answer{
		says("", bashCall("mkdir -p answers/folder; echo began")), says("", call("ask_user", `{"question":"Where is it?","files":["the portfolio, as CSV"]}`)),
	}, then...)}
}

// answerWith answers what the run asks, with files.
func (r *engineRig) answerWith(files ...v1alpha1.ResponseFile) {
	r.t.Helper()
	p := r.pending()
	if len(p.Files) != 1 || p.Files[0] != "the portfolio, as CSV" {
		r.t.Fatalf("it asks %+v", p)
	}
	value, err := json.Marshal(v1alpha1.Response{ID: p.ID, Answer: "Here.", Files: files})
	must(r.t, err)
	must(r.t, add(r.ctx, admin, r.run, "responses", string(value)))
}

func (r *engineRig) wantAnswered(name, want string) {
	r.t.Helper()
	if got, err := os.ReadFile(filepath.Join(r.workspace, "answers", name)); err != nil || string(got) != want {
		r.t.Errorf("%s has %q (%v)", name, got, err)
	}
}

func fromConfigMap(path, name string) v1alpha1.ResponseFile {
	return v1alpha1.ResponseFile{Path: path, ConfigMapKeyRef: &v1alpha1.ConfigMapKeyRef{Name: name, Key: "content"}}
}

func TestEngineGivesTheFilesOfAnAnswer(t *testing.T) {
	r := newEngineRig(t, asksForAFile(says("", bashCall("cat answers/p.csv")), says("done")))
	r.kept("given", "of a ConfigMap")
	r.kept("x", "of a run")
	r.earlier(v1alpha1.Artifact{Path: "a/b", Size: 8, MediaType: "text/plain", SHA256: hexSum("of a run"), ConfigMapName: "x", Provenance: "Internal"})
	r.startEngine("worker-1", nil)
	token := leak
	r.answerWith(
		v1alpha1.ResponseFile{Path: "p.csv", Content: new("name,weight\n")},
		v1alpha1.ResponseFile{Path: "sub/raw", BinaryContent: []byte("\x00\xff")},
		fromConfigMap("c", "given"), fromConfigMap("gone", "gone"),
		v1alpha1.ResponseFile{Path: "r", ArtifactRef: &v1alpha1.ArtifactRef{RunName: "earlier", Path: "a/b"}},
		v1alpha1.ResponseFile{Path: "none", ArtifactRef: &v1alpha1.ArtifactRef{RunName: "earlier", Path: "other"}},
		v1alpha1.ResponseFile{Path: "folder", Content: new("")},
		v1alpha1.ResponseFile{Path: "token", Content: new("key = " + token + "\n")},
	)
	steps := r.ended(4)
	r.wantAnswered("p.csv", "name,weight\n")
	r.wantAnswered("sub/raw", "\x00\xff")
	r.wantAnswered("c", "of a ConfigMap")
	r.wantAnswered("r", "of a run")
	if _, err := os.Lstat(filepath.Join(r.workspace, "answers/token")); !os.IsNotExist(err) {
		t.Errorf("a secret was given: %v", err)
	}
	got := resultAt(t, steps, 1, 0)
	for _, want := range []string{
		"The person replied: Here.\n\nFiles with the answer, in the workspace:\n- answers/p.csv (12 bytes, text/csv)\n- answers/sub/raw (2 bytes, application/octet-stream)\n",
		"- answers/c (14 bytes, text/plain; charset=utf-8)\n", `- answers/gone is not there: `, `configmaps "gone" not found`,
		"- answers/r (8 bytes, text/plain)\n", `- answers/none is not there: `, "- answers/folder is not there: ", "- answers/token is not there: it holds what looks like a secret",
	} {
		if !strings.Contains(got.Output, want) {
			t.Errorf("the model does not read %q:\n%s", want, got.Output)
		}
	}
	if strings.Contains(got.Output, token) || got.Provenance != "User" {
		t.Errorf("the result is %+v", got)
	}
	if got := resultAt(t, steps, 2, 0); !strings.Contains(got.Output, "name,weight") || got.Provenance != "Internal" {
		t.Errorf("what is read is %+v", got)
	}
	asked := steps[1].Status.Asks[0]
	if len(asked.Files) != 8 || asked.Files[0].SHA256 != hexSum("name,weight\n") || asked.Files[3].Problem == "" || asked.Files[3].SHA256 != "" {
		t.Errorf("recorded is %+v", asked.Files)
	}
	if f := asked.Files[6]; f.Path != "answers/folder" || !strings.Contains(f.Problem, "is a directory") || f.MissingInAttempt != 0 {
		t.Errorf("recorded of a file that could not be put there is %+v", f)
	}
}

// A file from the web taints the run with the answer that brings it, as it does at the beginning of a run.
func TestEngineTaintsByTheFilesOfAnAnswer(t *testing.T) {
	r := newEngineRig(t, asksForAFile(says("", bashCall("cp answers/r artifacts.txt; cat answers/r"), call("save_artifact", `{"path":"artifacts.txt"}`)), says("done")), withSaveArtifact)
	r.kept("x", "x")
	r.earlier(v1alpha1.Artifact{Path: "a", Size: 1, SHA256: hexSum("x"), ConfigMapName: "x", Provenance: "Web"})
	r.startEngine("worker-1", nil)
	r.answerWith(v1alpha1.ResponseFile{Path: "r", ArtifactRef: &v1alpha1.ArtifactRef{RunName: "earlier", Path: "a"}})
	steps := r.ended(4)
	if a, b := resultAt(t, steps, 0, 0).Provenance, resultAt(t, steps, 2, 0).Provenance; a != "Internal" || b != "Web" {
		t.Errorf("what programs say is of %s, and of %s after the answer", a, b)
	}
	if got := artifactAt(t, steps, 3, 0).Provenance; got != "Web" {
		t.Errorf("the artifact is of %s", got)
	}
}

// A manager ends between the record of an answer and its effect: the next one puts the files there, if they are still those.
func TestEngineGivesTheFilesOfAnAnswerAfterARestart(t *testing.T) {
	for name, tt := range map[string]struct{ content, want string }{
		"the same": {"given", "- answers/c (5 bytes, "},
		"another":  {"taken", "- answers/c is not there: it has another content than when the answer was recorded"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newEngineRig(t, asksForAFile(says("done")))
			r.kept("given", "given")
			stop := r.startEngine("worker-1", nil)
			r.pending()
			stop()
			r.killSandbox()
			stop = r.startEngine("worker-1", nil)
			r.answerWith(fromConfigMap("c", "given"))
			// Without its sandbox the answer is recorded, and has no effect.
			r.steps(func(s []v1alpha1.MotorStep) bool {
				return len(s) == 2 && len(s[1].Status.Asks) == 1 && len(s[1].Status.Asks[0].Files) == 1
			})
			stop()
			cm := &corev1.ConfigMap{ObjectMeta: meta(r.run.Namespace, "given")}
			must(t, admin.Patch(r.ctx, cm, client.RawPatch(types.MergePatchType, []byte(`{"binaryData":{"content":"`+base64Of(tt.content)+`"}}`))))
			r.restartSandbox()
			r.giveTo("worker-1", 2)
			r.startEngine("worker-1", nil)
			steps := r.ended(3)
			if got := resultAt(t, steps, 1, 0).Output; !strings.Contains(got, tt.want) {
				t.Errorf("the model reads %q", got)
			}
			if tt.content == "given" {
				r.wantAnswered("c", "given")
			}
		})
	}
}

// A new workspace gets the files of former answers as it gets those of the spec, and the model is told their names.
func TestEngineGivesTheFilesOfFormerAnswersAgain(t *testing.T) {
	r := newEngineRig(t, &stubModel{retry: []chat.Answer{says("", bashCall("cat answers/p.csv")), says("done")}})
	l := loadLog(r.ctx, t, manager, r.run, claim1)
	l.UseSandbox(v1alpha1.StepSandbox{PodUID: "lost", ServerKey: "sha256:lost", IsolationTries: 3})
	turn1 := turnAt(1, "", `ask_user:{"question":"Where is it?"}`)
	must(t, l.Append(r.ctx, turn1))
	run := r.run.DeepCopy()
	asking(r.ctx, t, run, 1, &v1alpha1.PendingInput{ID: "q1", Kind: v1alpha1.InputQuestion, Question: "Where is it?"})
	must(t, add(r.ctx, admin, r.run, "responses", fileAnswer(`{"path":"p.csv","content":"kept"},{"path":"now","content":"x"}`)))
	step := l.AllSteps()[0].DeepCopy()
	before := step.DeepCopy()
	step.Status.Asks = []v1alpha1.StepAsk{{
		ID: "q1", Kind: v1alpha1.InputQuestion, CallID: step.Spec.ToolCalls[0].ID, AskTime: r.run.CreationTimestamp, Outcome: v1alpha1.AskAnswered,
		Files: []v1alpha1.AskFile{
			{Path: "answers/p.csv", Size: 4, SHA256: hexSum("kept")}, {Path: "answers/gone", Problem: "it is not there"},
			{Path: "answers/now", SHA256: hexSum("x")},
		},
	}}
	must(t, manager.Status().Patch(r.ctx, step, client.MergeFrom(before)))
	r.changeStatus(func(st *v1alpha1.MotorRunStatus) {
		st.PendingInputs = nil
		st.Attempts = append(st.Attempts, v1alpha1.AttemptStatus{Index: 2, Cause: v1alpha1.CauseInfrastructure, RecoveryContext: "The workspace was lost."})
	})
	must(t, os.MkdirAll(filepath.Join(r.workspace, "answers/now"), 0o755)) // One of them cannot be there.
	r.startEngine("worker-1", nil)
	steps := r.ended(2)
	if f := steps[0].Status.Asks[0].Files[2]; f.MissingInAttempt != 2 || !strings.Contains(f.Problem, "is a directory") {
		t.Errorf("recorded of what is missing is %+v", f)
	}
	if told := r.model.lastTold(); !strings.Contains(told, `lacks files that people gave with earlier answers`) || !strings.Contains(told, `"answers/now": "`) {
		t.Errorf("the second attempt is told with its first step:\n%s", told)
	}
	if got := resultIn(t, steps[1].Status.Results, 0).Output; !strings.Contains(got, "kept") {
		t.Errorf("the second attempt finds %q", got)
	}
	if prompt := r.model.lastPrompt(); !strings.Contains(prompt, "answers/p.csv") || strings.Contains(prompt, "answers/gone") {
		t.Errorf("the second attempt is told:\n%s", prompt)
	}
}

func base64Of(content string) string { return base64.StdEncoding.EncodeToString([]byte(content)) }
