// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/skill"
	skillsource "motorcortex.dev/motorcortex/internal/skill/source"
	skillstore "motorcortex.dev/motorcortex/internal/skill/store"
)

func TestSkillThatIsNone(t *testing.T) {
	tests := map[string]struct {
		files  []string
		reason string
		parts  []string
	}{
		"two problems": {[]string{"SKILL.md", "---\nname: Send\nfoo: bar\n---\n", "x/../y", ""}, "SkillInvalid", []string{"SKILL.md", "line 2", "line 1: the front matter has no description", "x/../y"}},
		"another name": {[]string{"SKILL.md", skillMD("sends", "One.")}, "SkillInvalid", []string{"SKILL.md", "send"}},
		"no SKILL.md":  {[]string{"references/api.md", "v1"}, "SkillInvalid", []string{"SKILL.md"}},
		"an odd path":  {[]string{"SKILL.md", skillMD("send", "One."), "../etc/passwd", "x"}, "SkillInvalid", []string{"etc/passwd"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newSkillRig(t)
			r.create("send", v1alpha1.SkillSpec{Source: inline(tt.files...)})
			r.step()
			sk := r.want(v1alpha1.SkillPendingReview, "NoRevision")
			r.wantConditions("SourceReady False "+tt.reason, "Stalled True "+tt.reason, "Ready False NoRevision", "Reconciling")
			for _, part := range tt.parts {
				if !strings.Contains(sk.Status.Message, part) {
					t.Errorf("the message does not say %q: %s", part, sk.Status.Message)
				}
			}
			if names := r.revisionNames(); len(names) != 0 || len(sk.Status.Revisions) != 0 {
				t.Errorf("there are revisions %q", names)
			}
			r.wantEvents("Warning " + tt.reason)

			r.use(inline("SKILL.md", skillMD("send", "One.")))
			r.step()
			r.want(v1alpha1.SkillAwaitingApproval, "AwaitingApproval")
			r.wantConditions("SourceReady True SourceRead", "Stalled")
		})
	}
}

// What was approved stays approved when the source gives no skill any more: runs use the bytes that are stored.
func TestApprovedSkillWhoseSourceBreaks(t *testing.T) {
	r := approvedSkill(t)
	r.use(inline("SKILL.md", "no front matter"))
	r.step()
	r.want(v1alpha1.SkillApproved, "Approved")
	r.wantConditions("SourceReady False SkillInvalid", "Stalled True SkillInvalid", readyToUse)
	r.patch(`{"source":null}`)
	r.step()
	sk := r.want(v1alpha1.SkillApproved, "Approved")
	r.wantConditions("SourceReady False NoSource", "Stalled", readyToUse)
	if sk.Status.Source != nil {
		t.Errorf("the source is %+v", sk.Status.Source)
	}
}

func TestSkillPolicyThatCannotBeGranted(t *testing.T) {
	r := approvedSkill(t)
	r.patch(`{"policy":{"credentials":[{"name":"weather","hosts":["api.elsewhere.test"]}]}}`)
	r.step()
	r.wantConditions("PolicyValid False PolicyInvalid", "Stalled True PolicyInvalid")
	r.approve()
	r.step()
	r.wantConditions("Ready False PolicyInvalid", "Stalled True PolicyInvalid")
	if m := r.skill().Status.Message; !strings.Contains(m, "api.elsewhere.test") {
		t.Errorf("the message is %s", m)
	}
}

func TestSkillConfigMapIsDeleted(t *testing.T) {
	r := newSkillRig(t)
	r.create("send", v1alpha1.SkillSpec{Source: fromConfigMaps("front")})
	r.step()
	r.want(v1alpha1.SkillPendingReview, "NoRevision")
	r.wantConditions("SourceReady False SourceNotFound", "Stalled True SourceNotFound")
	r.put("front", "SKILL.md", skillMD("send", "One."))
	r.step()
	r.approve()
	r.step()
	r.want(v1alpha1.SkillApproved, "Approved")
	must(t, admin.Delete(r.ctx, r.configMap("front")))
	r.step()
	sk := r.want(v1alpha1.SkillApproved, "Approved")
	r.wantConditions("SourceReady False SourceNotFound", "Stalled True SourceNotFound", readyToUse)
	if !strings.Contains(sk.Status.Message, "front") {
		t.Errorf("the message is %s", sk.Status.Message)
	}
	r.put("front", "SKILL.md", skillMD("send", "Two."))
	r.step()
	r.want(v1alpha1.SkillNeedsReapproval, "ContentChanged", "SKILL.md")
}

func TestSkillOfNineMebibytes(t *testing.T) {
	r := newSkillRig(t)
	r.put("front", "SKILL.md", skillMD("send", "One."))
	names := []string{"front"}
	want := map[string][]byte{"SKILL.md": []byte(skillMD("send", "One."))}
	for i := range 10 {
		name := fmt.Sprintf("part-%d", i)
		cm := r.configMap(name)
		data := make([]byte, 900<<10)
		for j := range data {
			data[j] = byte(j * (i + 3))
		}
		cm.BinaryData = map[string][]byte{fmt.Sprintf("assets__%d.bin", i): data}
		must(t, admin.Create(r.ctx, cm))
		names = append(names, name)
		want[fmt.Sprintf("assets/%d.bin", i)] = data
	}
	r.create("send", v1alpha1.SkillSpec{Source: fromConfigMaps(names...)})
	r.step()
	sk := r.want(v1alpha1.SkillAwaitingApproval, "AwaitingApproval")
	rev := r.revision(sk.Status.RevisionName)
	if len(rev.Spec.ConfigMapNames) != 12 {
		t.Errorf("the bytes are in %d ConfigMaps", len(rev.Spec.ConfigMapNames))
	}
	store := skillstore.Store{Client: manager, Live: manager}
	files, err := store.Files(r.ctx, rev)
	must(t, err)
	for _, f := range files {
		if !bytes.Equal(f.Content, want[f.Path]) {
			t.Errorf("%s comes back with %d bytes, has %d", f.Path, len(f.Content), len(want[f.Path]))
		}
	}
	if len(files) != len(want) || skill.ContentHash(files) != sk.Status.ContentHash {
		t.Errorf("%d files come back", len(files))
	}
	// Without a part of it nobody can use it, and the source completes it.
	r.approve()
	r.step()
	must(t, admin.Delete(r.ctx, &corev1.ConfigMap{ObjectMeta: meta(r.ns, rev.Spec.ConfigMapNames[7])}))
	r.step()
	r.want(v1alpha1.SkillApproved, "Approved")
	_, err = store.Files(r.ctx, rev)
	must(t, err)
}

// scriptedSource gives what a test says.
type scriptedSource struct {
	read skillsource.Read
	err  error
}

func (s *scriptedSource) Read(context.Context, string, *v1alpha1.SkillSource) (skillsource.Read, error) {
	return s.read, s.err
}

func contents(files ...string) []skill.File {
	var list []skill.File
	for i := 0; i+1 < len(files); i += 2 {
		list = append(list, skill.File{Path: files[i], Content: []byte(files[i+1])})
	}
	return list
}

func TestSkillTagMoves(t *testing.T) {
	r := newSkillRig(t)
	src := &scriptedSource{read: skillsource.Read{Files: contents("SKILL.md", skillMD("send", "One.")), Origin: "registry.example.org/send@sha256:1"}}
	r.source.Source = src
	r.create("send", v1alpha1.SkillSpec{Source: &v1alpha1.SkillSource{OCI: &v1alpha1.SkillOCI{Reference: "registry.example.org/send:v1"}}})
	if res := r.step(); res.RequeueAfter < 9*time.Minute || res.RequeueAfter > 11*time.Minute {
		t.Errorf("the tag is looked up after %s", res.RequeueAfter)
	}
	r.approve()
	r.step()
	sk := r.want(v1alpha1.SkillApproved, "Approved")
	if s := sk.Status.Source; s.Origin != "registry.example.org/send@sha256:1" || s.ReadTime == nil || r.revision(sk.Status.RevisionName).Spec.Origin != s.Origin {
		t.Errorf("the source is %+v", sk.Status.Source)
	}
	reads := r.source.reads
	src.read = skillsource.Read{Files: contents("SKILL.md", skillMD("send", "Two.")), Origin: "registry.example.org/send@sha256:2"}
	r.now = r.now.Add(9 * time.Minute)
	r.restart()
	r.step()
	if r.source.reads != reads {
		t.Error("the tag was looked up too soon")
	}
	r.now = r.now.Add(2 * time.Minute)
	r.step()
	sk = r.want(v1alpha1.SkillNeedsReapproval, "ContentChanged", "SKILL.md")
	if r.source.reads != reads+1 || sk.Status.Source.Origin != "registry.example.org/send@sha256:2" {
		t.Errorf("it was looked up %d times, the source is %+v", r.source.reads-reads, sk.Status.Source)
	}
}

func TestSkillDigestIsReadOnce(t *testing.T) {
	r := newSkillRig(t)
	r.source.Source = &scriptedSource{read: skillsource.Read{Files: contents("SKILL.md", skillMD("send", "One."))}}
	r.create("send", v1alpha1.SkillSpec{Source: &v1alpha1.SkillSource{OCI: &v1alpha1.SkillOCI{Reference: "registry.example.org/send@sha256:" + strings.Repeat("0", 64)}}})
	if res := r.step(); res.RequeueAfter != 0 {
		t.Errorf("there is another pass in %s", res.RequeueAfter)
	}
	r.now = r.now.Add(day)
	r.restart()
	r.step()
	if r.source.reads != 1 {
		t.Errorf("it was read %d times", r.source.reads)
	}
}

func TestSkillRegistryIsAway(t *testing.T) {
	r := newSkillRig(t)
	src := &scriptedSource{err: &skillsource.Problem{Reason: v1alpha1.ReasonSourceUnavailable, Message: "The registry does not answer: try 1.", Transient: true}}
	r.source.Source = src
	r.create("send", v1alpha1.SkillSpec{Source: &v1alpha1.SkillSource{OCI: &v1alpha1.SkillOCI{Reference: "registry.example.org/send:v1"}}})
	if res := r.step(); res.RequeueAfter < 50*time.Second || res.RequeueAfter > 70*time.Second {
		t.Errorf("it is tried again after %s", res.RequeueAfter)
	}
	r.wantConditions("SourceReady False SourceUnavailable", "Reconciling True SourceUnavailable", "Stalled")
	message := r.skill().Status.Message
	src.err = &skillsource.Problem{Reason: v1alpha1.ReasonSourceUnavailable, Message: "The registry does not answer: try 2.", Transient: true}
	r.now = r.now.Add(61 * time.Second)
	r.step()
	if got := r.skill().Status.Message; got != message || r.source.reads != 2 {
		t.Errorf("after %d reads the message is %q, was %q", r.source.reads, got, message)
	}
	src.err, src.read.Files = nil, contents("SKILL.md", skillMD("send", "One."))
	// It is tried less often each time.
	r.now = r.now.Add(61 * time.Second)
	r.step()
	r.wantConditions("SourceReady False SourceUnavailable")
	r.now = r.now.Add(60 * time.Second)
	r.step()
	r.want(v1alpha1.SkillAwaitingApproval, "AwaitingApproval")
	r.wantConditions("SourceReady True SourceRead", "Reconciling")
}

// What the standard does not know is a finding, and what tools leave behind is named.
func TestSkillWithOddFiles(t *testing.T) {
	r := newSkillRig(t)
	r.create("send", v1alpha1.SkillSpec{Source: inline("SKILL.md", "---\nname: send\ndescription: d\nfoo: bar\n---\n", "forms.md", "x", "core/__init__.py", "", "core/a.pyc", "x")})
	r.step()
	sk := r.want(v1alpha1.SkillAwaitingApproval, "AwaitingApproval")
	rev := r.revision(sk.Status.RevisionName)
	kinds := map[v1alpha1.FindingKind]bool{}
	for _, f := range rev.Status.Findings {
		kinds[f.Kind] = true
	}
	if !kinds[v1alpha1.FindingUnknownKey] || !kinds[v1alpha1.FindingScript] || len(rev.Spec.Files) != 3 {
		t.Errorf("findings %+v, files %+v", rev.Status.Findings, rev.Spec.Files)
	}
	if c := apimeta.FindStatusCondition(sk.Status.Conditions, v1alpha1.ConditionSourceReady); !strings.Contains(c.Message, "is no part of it: core/a.pyc.") {
		t.Errorf("the condition says %q", c.Message)
	}
}

// Trouble with the API server is no state of a skill.
func TestSkillPassThatFails(t *testing.T) {
	r := approvedSkill(t)
	before := r.versions()
	away := errors.New("the API server is away")
	r.restart()
	r.rec.Live = interceptor.NewClient(manager, interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
		return apierrors.NewInternalError(away)
	}})
	if _, err := r.rec.Reconcile(r.ctx, ctrl.Request{NamespacedName: r.key}); err == nil || !strings.Contains(err.Error(), away.Error()) {
		t.Errorf("the pass ends with %v", err)
	}
	r.restart()
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "skills"}, "send", away)
	r.rec.Client = interceptor.NewClient(manager, interceptor.Funcs{SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
		return conflict
	}})
	r.patch(`{"policy":{"tools":["bash"]}}`)
	if res, err := r.rec.Reconcile(r.ctx, ctrl.Request{NamespacedName: r.key}); err != nil || res.RequeueAfter == 0 {
		t.Errorf("after a conflict: %v, %v", res, err)
	}
	after := r.versions()
	delete(before, "skill send")
	delete(after, "skill send")
	if len(before) != len(after) {
		t.Errorf("there are %v, were %v", after, before)
	}
	// A cache that is behind has another generation than the files that are read past it.
	r.restart()
	r.rec.Client = interceptor.NewClient(manager, interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
		err := c.Get(ctx, key, o, opts...)
		o.SetGeneration(o.GetGeneration() - 1)
		return err
	}})
	if res := r.once(); res.RequeueAfter == 0 || res.RequeueAfter > time.Second {
		t.Errorf("behind the cache: %v", res)
	}
	r.restart()
	r.step()
	r.want(v1alpha1.SkillNeedsReapproval, "PolicyChanged")
}

// A quota that keeps files from being stored is shown, and tried again.
func TestSkillThatCannotBeStored(t *testing.T) {
	r := newSkillRig(t)
	r.create("send", v1alpha1.SkillSpec{Source: inline("SKILL.md", skillMD("send", "One."))})
	quota := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "send", errors.New("exceeded quota: few"))
	r.rec.Store.Client = interceptor.NewClient(manager, interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
		if _, ok := o.(*corev1.ConfigMap); ok {
			return quota
		}
		return c.Create(ctx, o, opts...)
	}})
	if res := r.step(); res.RequeueAfter < 50*time.Second || res.RequeueAfter > 70*time.Second {
		t.Errorf("it is tried again after %s", res.RequeueAfter)
	}
	r.want(v1alpha1.SkillPendingReview, "NoRevision")
	r.wantConditions("SourceReady False SourceUnavailable", "Reconciling True SourceUnavailable", "Stalled")
	if m := r.skill().Status.Message; !strings.Contains(m, "exceeded quota: few") {
		t.Errorf("the message is %s", m)
	}
	r.restart()
	r.step()
	r.want(v1alpha1.SkillAwaitingApproval, "AwaitingApproval")
}

// A skill that is being deleted, or gone, is nobody's concern.
func TestSkillIsDeleted(t *testing.T) {
	r := approvedSkill(t)
	must(t, admin.Delete(r.ctx, &v1alpha1.Skill{ObjectMeta: meta(r.ns, "send")}))
	before := r.versions()
	if res := r.once(); res.RequeueAfter != 0 {
		t.Errorf("there is another pass in %s", res.RequeueAfter)
	}
	if after := r.versions(); len(after) != len(before) {
		t.Errorf("there are %v, were %v", after, before)
	}
}
