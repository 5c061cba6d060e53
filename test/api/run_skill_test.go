// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/journal"
	"motorcortex.dev/motorcortex/internal/runpolicy/reach"
)

// Scenario 2: the policy of an approved skill gives the run what it has, and the run's own spec stays as its author wrote it.
func TestRunUsesApprovedSkill(t *testing.T) {
	r := approvedUsingRig(t, mailPolicy())
	r.use()
	before, sk := r.spec(), r.skills.skill()
	r.once()
	pin := r.pinned()
	want := &v1alpha1.RunSkill{
		Name: "mail", RevisionName: sk.Status.RevisionName, ContentHash: sk.Status.ContentHash, PolicyHash: sk.Status.PolicyHash, Approved: true, Policy: &sk.Spec.Policy,
	}
	if diff := cmp.Diff(want, pin); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if r.pod() != nil {
		t.Error("there is a Pod before it is known that the revision stays")
	}
	if m := r.run().Status.Message; !strings.Contains(m, "uses revision "+pin.RevisionName) {
		t.Errorf("message %q", m)
	}

	r.start()
	r.want(v1alpha1.PhaseRunning, "Accepted True Accepted", "EgressReady True Granted", "Stalled ")
	if !r.isHeld(pin.RevisionName) {
		t.Errorf("the owners of the revision are %+v", r.skills.revision(pin.RevisionName).OwnerReferences)
	}
	r.wantWays("api.weather.test *.mail.weather.test", "service_key")
	r.wantValues(map[string]string{"service_key": secretValue})
	r.wantNoValue()
	if diff := cmp.Diff(before, r.spec()); diff != "" {
		t.Errorf("the stored spec has changed:\n%s", diff)
	}

	r.said(turnAt(1, "Sent."))
	r.settle()
	r.wantEnd(v1alpha1.PhaseCompleted, "Completed")
	if diff := cmp.Diff(want, r.pinned()); diff != "" {
		t.Errorf("after the end (-want +got):\n%s", diff)
	}
}

func TestRunNarrowsSkill(t *testing.T) {
	for name, tt := range map[string]struct {
		change               func(*v1alpha1.MotorRun)
		domains, credentials string
	}{
		"domains": {reaching("api.weather.test"), "api.weather.test", "service_key"},
		"a domain below": {func(run *v1alpha1.MotorRun) {
			run.Spec.Domains = []v1alpha1.Domain{"a.mail.weather.test", "api.weather.test"}
		}, "a.mail.weather.test api.weather.test", "service_key"},
		"tools": {func(run *v1alpha1.MotorRun) { run.Spec.Tools = []v1alpha1.ToolName{"read"} }, "api.weather.test *.mail.weather.test", "service_key"},
	} {
		t.Run(name, func(t *testing.T) {
			r := approvedUsingRig(t, mailPolicy())
			r.use(tt.change)
			r.start()
			r.wantWays(tt.domains, tt.credentials)
			if tools := reach.Effective(r.run()).Spec.Tools; name == "tools" && !slices.Equal(tools, []v1alpha1.ToolName{"read"}) {
				t.Errorf("tools %q", tools)
			}
		})
	}
}

// A skill that nobody approved gives a run nothing but its files.
func TestRunUsesUnapprovedSkill(t *testing.T) {
	r := newUsingRig(t, mailPolicy())
	r.use(reaching("docs.weather.test"), func(run *v1alpha1.MotorRun) { run.Spec.Tools = []v1alpha1.ToolName{"bash"} })
	r.start()
	pin := r.pinned()
	if pin.Approved || pin.PolicyHash != "" || pin.ContentHash != r.skills.skill().Status.ContentHash {
		t.Errorf("%+v", pin)
	}
	r.wantWays("docs.weather.test", "")
	r.want(v1alpha1.PhaseRunning, "Accepted True Accepted")
}

// What is decided about a skill concerns the runs that begin later.
func TestSkillIsRevokedUnderWay(t *testing.T) {
	r := approvedUsingRig(t, mailPolicy())
	r.use()
	r.start()
	pin := r.pinned()
	r.skills.approve(func(a *v1alpha1.SkillApproval) { a.Decision = v1alpha1.SkillDecisionRevoked })
	r.skills.step()
	r.skills.want(v1alpha1.SkillRevoked, "Revoked")
	r.settle()
	r.want(v1alpha1.PhaseRunning, "Accepted True Accepted", "EgressReady True Granted")
	r.wantWays("api.weather.test *.mail.weather.test", "service_key")
	if diff := cmp.Diff(pin, r.pinned()); diff != "" {
		t.Errorf("-before +after:\n%s", diff)
	}
	r.said(turnAt(1, "Sent."))
	r.settle()
	r.wantEnd(v1alpha1.PhaseCompleted, "Completed")

	r.another("later")
	r.wantRefusal("SkillNotApproved", "mail is not approved (Revoked)")
}

func TestSkillIsApprovedAnewUnderWay(t *testing.T) {
	r := approvedUsingRig(t, mailPolicy())
	r.use()
	r.start()
	pin := r.pinned()
	r.skills.use(inline("SKILL.md", skillMD("mail", "Do it otherwise.")))
	r.skills.patch(`{"policy":{"domains":["other.weather.test"],"credentials":null}}`)
	r.skills.step()
	r.skills.approve()
	r.skills.step()
	newer := r.skills.want(v1alpha1.SkillApproved, "Approved").Status
	r.settle()
	if diff := cmp.Diff(pin, r.pinned()); diff != "" {
		t.Errorf("-before +after:\n%s", diff)
	}
	r.wantWays("api.weather.test *.mail.weather.test", "service_key")

	r.another("later")
	r.once()
	if later := r.pinned(); later.RevisionName != newer.RevisionName || later.RevisionName == pin.RevisionName || later.PolicyHash != newer.PolicyHash {
		t.Errorf("%+v", later)
	}
}

// The one who reviews sees what nobody has approved, and nothing that it could harm.
func TestRunReviewsSkill(t *testing.T) {
	for name, prepare := range map[string]func(*usingRig){
		"reviewed": func(*usingRig) {},
		"rejected": func(r *usingRig) {
			r.skills.patch(`{"rejections":[{"contentHash":"` + r.skills.skill().Status.ContentHash + `"}]}`)
			r.skills.step()
			r.skills.want(v1alpha1.SkillRejected, "Rejected")
		},
		"approved": func(r *usingRig) { r.skills.approve(); r.skills.step() },
	} {
		t.Run(name, func(t *testing.T) {
			r := newUsingRig(t, mailPolicy())
			prepare(r)
			r.use(func(run *v1alpha1.MotorRun) { run.Spec.SkillReview = true })
			before := r.spec()
			r.start()
			r.want(v1alpha1.PhaseRunning, "Accepted True Accepted")
			r.wantWays("", "")
			if r.route() != nil {
				t.Error("the sandbox has a way out")
			}
			e := reach.Effective(r.run()).Spec
			if !slices.Equal(slices.Sorted(slices.Values(e.Tools)), []v1alpha1.ToolName{"glob", "grep", "list", "read"}) ||
				len(e.Domains)+len(e.Credentials) > 0 || e.Limits.MaxIterations > 10 || e.MaxAttempts != 1 {
				t.Errorf("%+v", e)
			}
			r.failed("RepeatedToolFailure")
			r.settle()
			r.wantAttempts("First RepeatedToolFailure")
			r.wantEnd(v1alpha1.PhaseFailed, "RepeatedToolFailure")
			if r.spec() != before {
				t.Error("the stored spec has changed")
			}
		})
	}
}

// Skills that are not kept are an Event of the run, once, with what stands against them.
func TestRejectedSkillsAreTold(t *testing.T) {
	r := newRig(t)
	r.ready()
	l := r.log()
	must(t, l.Append(r.ctx, turnAt(1, "Done.")))
	must(t, l.Close(r.ctx, journal.Closing{Skills: &v1alpha1.SkillsResult{
		Rejected: []v1alpha1.RejectedSkill{{Path: "skills/bad", Message: "SKILL.md: line 1"}, {Path: "skills/worse", Message: strings.Repeat("x", 512)}},
	}}))
	r.settle()
	if run := r.run(); run.Status.Result == nil || len(run.Status.Result.Skills.Rejected) != 2 {
		t.Fatalf("the result is %+v", run.Status.Result)
	}
	told := slices.DeleteFunc(slices.Clone(r.events), func(e string) bool { return e != "Warning "+v1alpha1.EventSkillRejected })
	if len(told) != 1 {
		t.Errorf("events %v", r.events)
	}
}
