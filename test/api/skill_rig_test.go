// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/skill"
	skillsource "motorcortex.dev/motorcortex/internal/skill/source"
	skillstore "motorcortex.dev/motorcortex/internal/skill/store"
)

// skillRig is one namespace and a reconciler of skills, which has the manager's rights and a clock that is set by hand.
type skillRig struct {
	passes
	source *countedSource
	rec    *skill.Reconciler
}

// countedSource counts how often a source is read.
type countedSource struct {
	skill.Source
	reads int
}

func (s *countedSource) Read(ctx context.Context, namespace string, src *v1alpha1.SkillSource) (skillsource.Read, error) {
	s.reads++
	return s.Source.Read(ctx, namespace, src)
}

func newSkillRig(t *testing.T, labels ...string) *skillRig {
	t.Helper()
	t.Parallel()
	ctx := testContext(t)
	r := &skillRig{passes: passes{t: t, ctx: ctx, ns: newNamespace(ctx, t, labels...)}}
	r.readsSources()
	return r
}

// readsSources gives the rig its reconciler.
func (r *skillRig) readsSources() {
	r.source = &countedSource{Source: &skillsource.Reader{Live: manager}}
	r.restart()
}

// restart is another process of the manager.
func (r *skillRig) restart() {
	r.rec = &skill.Reconciler{
		Client: manager, Live: manager, Heads: manager, Recorder: r, Source: r.source,
		Store: &skillstore.Store{Client: manager, Live: manager},
		Now:   func() time.Time { return r.now },
	}
}

// create makes a skill as a user does, and sets the clock.
func (r *skillRig) create(name string, spec v1alpha1.SkillSpec) {
	r.t.Helper()
	sk := &v1alpha1.Skill{ObjectMeta: meta(r.ns, name), Spec: spec}
	must(r.t, admin.Create(r.ctx, sk))
	r.key = client.ObjectKeyFromObject(sk)
	r.now = sk.CreationTimestamp.Add(time.Second)
}

// skillMD is a SKILL.md.
func skillMD(name, body string) string {
	return "---\nname: " + name + "\ndescription: Sends a message.\n---\n\n" + body + "\n"
}

// inline is a source of these files, each a path and a content.
func inline(files ...string) *v1alpha1.SkillSource {
	src := &v1alpha1.SkillSource{}
	for i := 0; i+1 < len(files); i += 2 {
		src.Files = append(src.Files, v1alpha1.SkillFile{Path: files[i], Content: files[i+1]})
	}
	return src
}

// fromConfigMaps is a source of ConfigMaps, whose keys are files of the skill's folder.
func fromConfigMaps(names ...string) *v1alpha1.SkillSource {
	src := &v1alpha1.SkillSource{}
	for _, name := range names {
		src.ConfigMaps = append(src.ConfigMaps, v1alpha1.SkillConfigMap{Name: name})
	}
	return src
}

func (r *skillRig) configMap(name string, files ...string) *corev1.ConfigMap {
	cm := &corev1.ConfigMap{ObjectMeta: meta(r.ns, name), Data: map[string]string{}}
	for i := 0; i+1 < len(files); i += 2 {
		cm.Data[files[i]] = files[i+1]
	}
	return cm
}

// put creates a ConfigMap, or replaces what it has.
func (r *skillRig) put(name string, files ...string) {
	r.t.Helper()
	cm := r.configMap(name, files...)
	err := admin.Create(r.ctx, cm)
	if err != nil {
		must(r.t, admin.Update(r.ctx, r.configMap(name, files...)))
	}
}

// step reconciles, and once more to see that the second time changes nothing. It gives the second result.
func (r *skillRig) step() ctrl.Result {
	r.t.Helper()
	r.once()
	reads := r.source.reads
	res := r.passAgain(r.rec, r.versions)
	if c := r.condition(v1alpha1.ConditionSourceReady); r.source.reads != reads && (c == nil || c.Reason != v1alpha1.ReasonSourceUnavailable) {
		r.t.Error("reconciling again read the source again")
	}
	return res
}

func (r *skillRig) once() ctrl.Result {
	r.t.Helper()
	return r.pass(r.rec)
}

// versions are the resource versions of everything that the reconciler may write.
func (r *skillRig) versions() map[string]string {
	r.t.Helper()
	return r.versionsOf(&v1alpha1.Skill{}, &v1alpha1.SkillRevision{}, &corev1.ConfigMap{}, &v1alpha1.MotorRun{})
}

func (r *skillRig) skill() *v1alpha1.Skill {
	r.t.Helper()
	sk := &v1alpha1.Skill{}
	must(r.t, admin.Get(r.ctx, r.key, sk))
	return sk
}

func (r *skillRig) condition(conditionType string) *metav1.Condition {
	return apimeta.FindStatusCondition(r.skill().Status.Conditions, conditionType)
}

// revision reads a SkillRevision.
func (r *skillRig) revision(name string) *v1alpha1.SkillRevision {
	r.t.Helper()
	rev := &v1alpha1.SkillRevision{}
	must(r.t, admin.Get(r.ctx, client.ObjectKey{Namespace: r.ns, Name: name}, rev))
	return rev
}

// revisionNames are those of the SkillRevisions that there are.
func (r *skillRig) revisionNames() []string {
	r.t.Helper()
	var list v1alpha1.SkillRevisionList
	must(r.t, admin.List(r.ctx, &list, client.InNamespace(r.ns)))
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names
}

// patch changes the spec as kubectl patch does.
func (r *skillRig) patch(spec string) {
	r.t.Helper()
	must(r.t, mergePatch(r.ctx, &v1alpha1.Skill{ObjectMeta: meta(r.key.Namespace, r.key.Name)}, `{"spec":`+spec+`}`))
}

// use replaces the source.
func (r *skillRig) use(src *v1alpha1.SkillSource) {
	r.t.Helper()
	value, err := json.Marshal(src)
	must(r.t, err)
	r.patch(`{"source":null}`)
	r.patch(`{"source":` + string(value) + `}`)
}

// approve approves what the status names, unless it is told otherwise.
func (r *skillRig) approve(change ...func(*v1alpha1.SkillApproval)) {
	r.t.Helper()
	st := r.skill().Status
	a := v1alpha1.SkillApproval{Decision: v1alpha1.SkillDecisionApproved, ContentHash: st.ContentHash, PolicyHash: st.PolicyHash}
	for _, c := range change {
		c(&a)
	}
	value, err := json.Marshal(a)
	must(r.t, err)
	r.patch(`{"approval":` + string(value) + `}`)
}

// want checks the state, the reason of the condition Approved and that the message has every part.
func (r *skillRig) want(state v1alpha1.SkillState, reason string, parts ...string) *v1alpha1.Skill {
	r.t.Helper()
	sk := r.skill()
	approved := apimeta.FindStatusCondition(sk.Status.Conditions, v1alpha1.ConditionApproved)
	if approved == nil {
		r.t.Fatalf("there is no condition Approved: %+v", sk.Status)
	}
	if sk.Status.State != state || approved.Reason != reason || (approved.Status == "True") != (state == v1alpha1.SkillApproved) {
		r.t.Errorf("state %s, Approved is %s/%s; want %s/%s: %s", sk.Status.State, approved.Status, approved.Reason, state, reason, approved.Message)
	}
	for _, part := range parts {
		if !strings.Contains(approved.Message, part) {
			r.t.Errorf("the message does not say %q: %s", part, approved.Message)
		}
	}
	if sk.Status.ObservedGeneration != sk.Generation {
		r.t.Errorf("observed generation %d of %d", sk.Status.ObservedGeneration, sk.Generation)
	}
	return sk
}

// wantConditions compares the conditions that it names, each as "Type Status Reason", or "Type" for one that is not there.
func (r *skillRig) wantConditions(want ...string) {
	r.t.Helper()
	got := map[string]string{}
	for _, c := range r.skill().Status.Conditions {
		got[c.Type] = string(c.Status) + " " + c.Reason
	}
	for _, w := range want {
		name, value, _ := strings.Cut(w, " ")
		if got[name] != value {
			r.t.Errorf("condition %s is %q, want %q", name, got[name], value)
		}
	}
}

// wantEvents compares the events since the last call.
func (r *skillRig) wantEvents(want ...string) {
	r.t.Helper()
	if !slices.Equal(r.events, want) {
		r.t.Errorf("events %q, want %q\n%s", r.events, want, strings.Join(r.notes, "\n"))
	}
	r.events, r.notes = nil, nil
}
