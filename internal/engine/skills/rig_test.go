// SPDX-License-Identifier: Apache-2.0

package skills

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/enginetest"
	"motorcortex.dev/motorcortex/internal/engine/redacting"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/journal"
	"motorcortex.dev/motorcortex/internal/skill"
	skillstore "motorcortex.dev/motorcortex/internal/skill/store"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

// toldSandbox is a tool server with scripted answers.
type toldSandbox struct {
	list toolapi.Skills
	// files are the contents by their paths in the workspace.
	files map[string]string
	// refuses is an error instead of the list.
	refuses *toolapi.Error
	// hangs is true if the list never comes.
	hangs bool
	asked int
	// features are those that it knows.
	features []string
	// Put are the files that were put there, by their paths, and putting is called with each.
	put     map[string]string
	putting func(path string)
	// fromWeb counts the files that were put as from the web.
	fromWeb int
}

// has adds a folder with these files, path and content in turn.
func (s *toldSandbox) has(folder string, files ...string) {
	f := toolapi.SkillFolder{Path: folder}
	for i := 0; i < len(files); i += 2 {
		name, content := files[i], files[i+1]
		f.Files = append(f.Files, toolapi.SkillFile{Path: name, Size: int64(len(content)), SHA256: toolapi.SHA256([]byte(content))})
		s.files[strings.TrimPrefix(folder+"/"+name, "./")] = content
	}
	s.list.Folders = append(s.list.Folders, f)
}

func (s *toldSandbox) clear() { s.list, s.files = toolapi.Skills{}, map[string]string{} }

func (s *toldSandbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer, status := any(toolapi.Hello{PodUID: "pod", Features: s.features}), http.StatusOK
	name, isFile := strings.CutPrefix(r.URL.Path, toolapi.PathSkills+"/")
	switch {
	case r.Method == http.MethodPut:
		content, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		to := strings.TrimPrefix(r.URL.Path, toolapi.PathFiles)
		if s.putting != nil {
			s.putting(to)
		}
		s.put[to], answer = string(content), toolapi.File{}
		if r.Header.Get(toolapi.HeaderProvenance) == string(toolapi.ProvenanceWeb) {
			s.fromWeb++
		}
	case isFile:
		content, ok := s.files[name]
		if offset, err := strconv.Atoi(r.URL.Query().Get("offset")); err == nil && ok {
			answer = toolapi.Chunk{Content: []byte(content[offset:min(len(content), offset+toolapi.MaxChunkBytes)]), Size: int64(len(content))}
		} else {
			answer, status = toolapi.Error{Code: toolapi.ErrNotFound, Message: "it is\nnot there"}, http.StatusNotFound
		}
	case r.URL.Path == toolapi.PathSkills && s.hangs:
		<-r.Context().Done()
	case r.URL.Path == toolapi.PathSkills:
		s.asked++
		if answer = s.list; s.refuses != nil {
			answer, status = s.refuses, http.StatusInternalServerError
		}
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}

// skillRig is a run that is about to end.
type skillRig struct {
	t       testing.TB
	client  client.WithWatch
	sandbox *toldSandbox
	// Env is the shared part of all loops of the rig, without the journal.
	env     *runenv.Env
	lease   *enginetest.Lease
	run     *v1alpha1.MotorRun
	steps   []v1alpha1.MotorStep
	known   *redacting.Secrets
	address string
	cert    tls.Certificate
	// before is called with every object that is created, and its error is that of the API server.
	before func(client.Object) error
}

func newSkillRig(t testing.TB) *skillRig {
	t.Helper()
	r := &skillRig{t: t, sandbox: &toldSandbox{features: toolapi.Features(), files: map[string]string{}, put: map[string]string{}}, run: enginetest.ReadyRun(), before: func(client.Object) error { return nil }}
	r.known, _ = enginetest.Secrets()
	r.run.UID = "run-uid"
	r.run.Spec.Tools = []v1alpha1.ToolName{"bash"}
	r.client = interceptor.NewClient(fake.NewClientBuilder().WithScheme(enginetest.Scheme(t)).Build(), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if err := r.before(o); err != nil {
				return err
			}
			return c.Create(ctx, o, opts...)
		},
	})
	r.lease = &enginetest.Lease{}
	r.env = &runenv.Env{
		Client: r.client, Live: r.client, Lease: r.lease, Clock: runenv.Clock{Now: func() time.Time { return enginetest.Noon }}, Limits: &runenv.Limits{},
		Run: r.run, Known: r.known, Absence: &runenv.Absence{}, Log: slog.New(slog.DiscardHandler),
	}
	r.did("bash", `{"command":"true"}`)

	r.address, r.cert = enginetest.ServeTools(t, r.sandbox)
	return r
}

func (r *skillRig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// did adds a step with a call that succeeded.
func (r *skillRig) did(tool, arguments string) {
	r.t.Helper()
	n := int32(len(r.steps) + 1)
	id := fmt.Sprintf("a1-s%d-c0", n)
	step := v1alpha1.MotorStep{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: journal.StepName("run", 1, n), Labels: map[string]string{v1alpha1.LabelRun: "run"},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(r.run, v1alpha1.GroupVersion.WithKind("MotorRun"))},
		},
		Spec: v1alpha1.MotorStepSpec{
			Type: v1alpha1.StepTurn, Attempt: 1, Index: n, Epoch: 1, ToolCalls: []v1alpha1.ToolCall{{ID: id, Tool: tool, Arguments: arguments}},
			Sandbox: &v1alpha1.StepSandbox{PodUID: "pod"},
		},
		Status: v1alpha1.MotorStepStatus{Results: []v1alpha1.ToolResult{{CallID: id, OK: true}}},
	}
	r.steps = append(r.steps, step)
	r.must(r.client.Create(r.t.Context(), &step))
}

// collector is that of a new loop.
func (r *skillRig) collector() *Collector {
	r.t.Helper()
	env := *r.env
	env.Entries = r.entries()
	c, err := toolclient.New(toolclient.Config{Address: r.address, PodUID: "pod", ClientCert: r.cert, Epoch: 1, Unreachable: 200 * time.Millisecond})
	r.must(err)
	r.t.Cleanup(c.Close)
	return NewCollector(&env, c)
}

func (r *skillRig) entries() *journal.Log {
	r.t.Helper()
	entries, err := journal.Load(r.t.Context(), r.client, r.client, r.run, 1, journal.Claim{Epoch: 1, Worker: "worker-1"}, r.env.Now)
	r.must(err)
	return entries
}

// Collect returns a new loop's result for the skills.
func (r *skillRig) collect() *v1alpha1.SkillsResult {
	r.t.Helper()
	result, err := r.collector().Collect(r.t.Context(), time.Minute)
	r.must(err)
	return result
}

// pin returns the run a revision of a skill to begin with.
func (r *skillRig) pin(name string, files ...string) *v1alpha1.SkillRevision {
	r.t.Helper()
	rev := r.store(name, files...)
	r.run.Status.Skill = &v1alpha1.RunSkill{Name: name, RevisionName: rev.Name, ContentHash: rev.Spec.ContentHash, Approved: true}
	return rev
}

// store makes a skill with a revision that comes from a person.
func (r *skillRig) store(name string, files ...string) *v1alpha1.SkillRevision {
	r.t.Helper()
	sk := &v1alpha1.Skill{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
	r.must(r.client.Create(r.t.Context(), sk))
	var list []skill.File
	for i := 0; i < len(files); i += 2 {
		list = append(list, skill.File{Path: files[i], Content: []byte(files[i+1])})
	}
	_, list, err := skill.Check(name, list)
	r.must(err)
	rev, err := (&skillstore.Store{Client: r.client, Live: r.client}).Put(r.t.Context(), sk, v1alpha1.SkillRevisionSpec{}, list)
	r.must(err)
	return rev
}

// revisions are the names of all SkillRevisions.
func (r *skillRig) revisions() []string {
	r.t.Helper()
	var list v1alpha1.SkillRevisionList
	r.must(r.client.List(r.t.Context(), &list))
	names := make([]string, 0, len(list.Items))
	for _, rev := range list.Items {
		names = append(names, rev.Name)
	}
	slices.Sort(names)
	return names
}

// revision is the one that was proposed.
func (r *skillRig) revision(p v1alpha1.ProposedSkill) *v1alpha1.SkillRevision {
	r.t.Helper()
	rev := &v1alpha1.SkillRevision{}
	r.must(r.client.Get(r.t.Context(), client.ObjectKey{Namespace: "ns", Name: p.RevisionName}, rev))
	if _, err := (&skillstore.Store{Client: r.client, Live: r.client}).Files(r.t.Context(), rev); err != nil {
		r.t.Error(err)
	}
	return rev
}
