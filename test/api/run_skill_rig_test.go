// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	skillsource "motorcortex.dev/motorcortex/internal/skill/source"
)

// usingRig is a rig whose runs use the skill mail, with an egress proxy, and a person who creates them and may have them use the
// Secret keys.
type usingRig struct {
	*rig
	skills *skillRig
}

// mailPolicy is the policy of the skill mail, unless a test has another one.
func mailPolicy() v1alpha1.SkillPolicy {
	return v1alpha1.SkillPolicy{
		Tools:   []v1alpha1.ToolName{"bash", "read", "fetch"},
		Domains: []v1alpha1.Domain{"api.weather.test", "*.mail.weather.test"},
		Credentials: []v1alpha1.SkillCredential{{
			Name: "service_key", Hosts: []v1alpha1.Domain{"api.weather.test"}, SecretRef: &v1alpha1.SecretKeyRef{Name: "keys", Key: "service_key"},
		}},
	}
}

// newUsingRig is a rig with the skill, which nobody has approved.
func newUsingRig(t *testing.T, policy v1alpha1.SkillPolicy) *usingRig {
	t.Helper()
	r := &usingRig{rig: emptyRig(t)}
	r.proxy()
	r.allowUse()
	r.putSecret(map[string]string{"service_key": secretValue + "\n"})
	r.skills = &skillRig{passes: passes{t: t, ctx: r.ctx, ns: r.ns}, source: &countedSource{Source: &skillsource.Reader{Live: manager}}}
	r.skills.restart()
	r.skills.create("mail", v1alpha1.SkillSpec{
		Source: inline("SKILL.md", skillMD("mail", "Run scripts/send.sh."), "scripts/send.sh", "#!/bin/sh\necho sent\n"), Policy: policy,
	})
	r.skills.step()
	return r
}

// approvedUsingRig is a rig with the skill, which is approved.
func approvedUsingRig(t *testing.T, policy v1alpha1.SkillPolicy) *usingRig {
	t.Helper()
	r := newUsingRig(t, policy)
	r.skills.approve()
	r.skills.step()
	r.skills.want(v1alpha1.SkillApproved, "Approved")
	return r
}

// use creates the run: with the skill, and nothing of its own but what the changes add.
func (r *usingRig) use(change ...func(*v1alpha1.MotorRun)) {
	r.t.Helper()
	r.createAsRequester(slices.Insert(change, 0, func(run *v1alpha1.MotorRun) {
		run.Spec.Tools, run.Spec.SkillRef = nil, &v1alpha1.SkillRef{Name: "mail"}
	})...)
}

// another creates a further run like the first one, and has the rig speak of it from now on.
func (r *usingRig) another(name string, change ...func(*v1alpha1.MotorRun)) {
	r.t.Helper()
	user, err := clientAs(r.requester())
	must(r.t, err)
	run := newRun(r.ns, append(change, func(run *v1alpha1.MotorRun) {
		run.Name, run.Spec.Tools, run.Spec.SkillRef = name, nil, &v1alpha1.SkillRef{Name: "mail"}
		run.Spec.Requester = &v1alpha1.Requester{Username: r.requester(), Groups: []string{"system:authenticated"}}
	})...)
	must(r.t, user.Create(r.ctx, run))
	r.key = client.ObjectKeyFromObject(run)
	r.now = run.CreationTimestamp.Add(time.Second)
}

// start brings the run to a sandbox that runs.
func (r *usingRig) start() {
	r.t.Helper()
	r.settle()
	r.play(running)
	r.settle()
}

// spec is the spec of the run as it is stored.
func (r *usingRig) spec() string {
	r.t.Helper()
	b, err := json.Marshal(r.run().Spec)
	must(r.t, err)
	return string(b)
}

// pinned is status.skill.
func (r *usingRig) pinned() *v1alpha1.RunSkill {
	r.t.Helper()
	pin := r.run().Status.Skill
	if pin == nil {
		r.t.Fatalf("the run has no skill: %+v", r.run().Status)
	}
	return pin
}

// wantWays compares what the egress proxy is told: domains, and names of credentials.
func (r *usingRig) wantWays(domains, credentials string) {
	r.t.Helper()
	_, g := r.grantOf()
	if g == nil {
		if domains+credentials != "" {
			r.t.Error("there is no grant")
		}
		return
	}
	var names []string
	for _, c := range g.Credentials {
		names = append(names, c.Name)
	}
	if got := strings.Join(g.Domains, " "); got != domains {
		r.t.Errorf("the grant has the domains %q, want %q", got, domains)
	}
	if got := strings.Join(names, " "); got != credentials {
		r.t.Errorf("the grant has the credentials %q, want %q", got, credentials)
	}
}

// wantRefusal checks a run that ended before it began.
func (r *usingRig) wantRefusal(reason, message string) {
	r.t.Helper()
	r.settle()
	run := r.wantEnd(v1alpha1.PhaseFailed, reason)
	if f := failureAt(r.t, run, 1); f.Category != v1alpha1.CategoryInvalidTask || f.Retryable {
		r.t.Errorf("failure %+v", f)
	}
	if m := run.Status.Message; !strings.Contains(m, message) {
		r.t.Errorf("message %q does not say %q", m, message)
	}
	if run.Status.Skill != nil || r.pod() != nil {
		r.t.Errorf("it has skill %+v, Pod %v", run.Status.Skill, r.pod())
	}
}

// isHeld reports whether the namespace is an owner of a revision, so that the garbage collector leaves it.
func (r *usingRig) isHeld(name string) bool {
	r.t.Helper()
	ns := &corev1.Namespace{}
	must(r.t, admin.Get(r.ctx, client.ObjectKey{Name: r.ns}, ns))
	return slices.Contains(r.skills.revision(name).OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "Namespace", Name: r.ns, UID: ns.UID})
}

// holdAsBefore makes the run an owner of a revision, as a leader of 0.2 does before it writes the status.
func (r *usingRig) holdAsBefore(name string) {
	r.t.Helper()
	rev := r.skills.revision(name)
	before, run := rev.DeepCopy(), r.run()
	rev.OwnerReferences = append(rev.OwnerReferences, metav1.OwnerReference{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: "MotorRun", Name: run.Name, UID: run.UID,
	})
	must(r.t, manager.Patch(r.ctx, rev, client.MergeFrom(before)))
}

// deleteSkill deletes the Skill, and has the garbage collector and the reconciler of skills look at what is left.
func (r *usingRig) deleteSkill() {
	r.t.Helper()
	must(r.t, admin.Delete(r.ctx, r.skills.skill()))
	r.collectGarbage()
	r.skills.once()
}

// wantRevisions compares the revisions that there are.
func (r *usingRig) wantRevisions(when string, want ...string) {
	r.t.Helper()
	if got := r.skills.revisionNames(); !slices.Equal(got, want) {
		r.t.Errorf("%s there are the revisions %q, want %q", when, got, want)
	}
}

// collectGarbage does what the garbage collector does when the Skill is gone.
func (r *usingRig) collectGarbage() {
	r.t.Helper()
	gc, err := clientAs("system:serviceaccount:kube-system:generic-garbage-collector", "system:masters")
	must(r.t, err)
	for _, name := range r.skills.revisionNames() {
		rev := r.skills.revision(name)
		before := rev.DeepCopy()
		rev.OwnerReferences = slices.DeleteFunc(rev.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind == "Skill" })
		if len(rev.OwnerReferences) == 0 {
			must(r.t, gc.Delete(r.ctx, rev))
			continue
		}
		must(r.t, gc.Patch(r.ctx, rev, client.MergeFrom(before)))
	}
}
