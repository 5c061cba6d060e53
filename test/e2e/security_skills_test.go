// SPDX-License-Identifier: Apache-2.0

//go:build e2e && security

package e2e_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/test/packageindex"
)

// mailAPI is the AgentMail of the sample skill. Sending has moved to another path than the skill knows.
func mailAPI(key string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/send", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"error":"gone","changes":"https://api.agentmail.test/changes"}`, http.StatusNotFound)
	})
	mux.HandleFunc("GET /changes", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "2026-10-01: POST /v1/send is gone. POST /v2/messages takes the same body and gives the same answer.\n")
	})
	mux.HandleFunc("POST /v2/messages", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		if r.Header.Get("Authorization") != "Bearer "+key || !strings.Contains(string(body), `"to": "ann@example.com"`) {
			http.Error(w, `{"error":"unauthorized"}`, http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, `{"id":"msg_1"}`)
	})
	return mux
}

// ranScript is a maintainer script that leaves files where they would be packed if something ran it, wherever that is.
const ranScript = "#!/bin/sh\nfor dir in . \"$DPKG_ROOT\" /workspace/.motor/install/out /workspace/.motor/install/out/root; do touch \"$dir/ran\"; done\nexit 0\n"

// packages are those of packages.test.
var packages = sync.OnceValue(func() *packageindex.Index {
	return packageindex.New(
		[]packageindex.Package{{Name: "tinywheel", Version: "1.0.0", Files: map[string]string{"tinywheel.py": "NAME = 'tinywheel'\n"}}},
		[]packageindex.Package{{Name: "tinytgz", Version: "1.0.0", Files: map[string]string{"index.js": "exports.name = 'tinytgz'\n"}}},
		[]packageindex.Package{
			{
				Name: "tinydeb", Version: "1.0-1", Files: map[string]string{"DEBIAN/preinst": ranScript, "DEBIAN/postinst": ranScript},
				Programs: map[string]string{"tinydeb": "#!/bin/sh\ncat \"${0%/bin/*}/share/tinydeb/name\"\n"}, Needs: map[string]string{"tinydeb-data": "1.0-1"},
			},
			{Name: "tinydeb-data", Version: "1.0-1", Files: map[string]string{"usr/share/tinydeb/name": "tinydeb\n"}},
		},
	)
})

// The API of an approved skill has moved. The run finds out, does the task and corrects the skill within its domains; nobody uses
// the corrected one before it is approved.
func TestSecuritySkillIsRepaired(t *testing.T) {
	t.Parallel()
	ns := skillNamespace(t, "repair")
	must(t, suite.client.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "agentmail-key"}, StringData: map[string]string{"value": world.value},
	}))
	first := approved(t, ns, "agentmail")
	done := wantCompleted(t, startSkillSample(t, ns, "agentmail"), 2*soon)
	if got := done.Status.Result.Summary; !strings.HasPrefix(got, "Message msg_1 is sent.") {
		t.Errorf("summary %q", got)
	}
	if got := done.Status.Skill.Policy; !slices.Equal(got.Domains, []v1alpha1.Domain{"api.agentmail.test"}) {
		t.Errorf("the policy that applied is %+v", got)
	}
	left := done.Status.Result.Skills
	if left == nil || len(left.Updated) != 1 || len(left.Created)+len(left.Rejected) != 0 || left.Updated[0].ChangedFiles != 2 {
		t.Fatalf("the run left %+v", left)
	}
	// What was approved stays approved, and is what the next run gets.
	repaired := left.Updated[0].RevisionName
	s := awaitSkill(t, ns, "agentmail", soon, "the proposal", func(s *v1alpha1.Skill) bool { return s.Status.RevisionName == repaired })
	if s.Status.State != v1alpha1.SkillApproved || s.Status.Approved.ContentHash != first.Status.ContentHash || s.Spec.Approval.ContentHash != first.Status.ContentHash {
		t.Errorf("after the run the skill is %+v", s.Status)
	}
	if diff := motorEnds(t, 1, "skill", "diff", "-n", ns, "agentmail"); !strings.Contains(diff, "+PATH = \"/v2/messages\"") {
		t.Errorf("the difference is shown as\n%s", diff)
	}
	approveSkill(t, ns, "agentmail", "--revision", repaired)
	awaitSkill(t, ns, "agentmail", soon, "the approval of the proposal", func(s *v1alpha1.Skill) bool {
		return s.Status.State == v1alpha1.SkillApproved && s.Status.Approved.RevisionName == repaired
	})
	again := wantCompleted(t, startSkillRun(t, ns, "agentmail-again", "agentmail", withInputs("to", "ann@example.com")), 2*soon)
	if got := again.Status.Result; !strings.HasPrefix(got.Summary, "Message msg_1") || got.Skills != nil {
		t.Errorf("the corrected skill came to %+v", got)
	}
	wantNothingElseLeft(t)
}

// The host of a skill has moved: a person allows the new one for the run, and the correction waits with the old policy.
func TestSecuritySkillNeedsADomain(t *testing.T) {
	t.Parallel()
	ns := modelNamespace(t, "moved")
	createSkill(t, ns, "rates", "Get http://allowed.test/rates.", v1alpha1.SkillPolicy{
		Tools: []v1alpha1.ToolName{"fetch", "edit", "request_domain"}, Domains: []v1alpha1.Domain{"allowed.test:80"},
	})
	approved(t, ns, "rates")
	run := startSkillRun(t, ns, "skill-moved", "rates")
	asked := awaitQuestion(t, run)
	if p := asked.Status.Pending(); p.Kind != v1alpha1.InputDomainRequest || p.Domain != "sub.wild.test:80" {
		t.Fatalf("the run asks %+v", p)
	}
	decide(t, asked, v1alpha1.DecisionAllowRun)
	done := wantCompleted(t, run, 2*soon)
	if left := done.Status.Result.Skills; left == nil || len(left.Updated) != 1 {
		t.Fatalf("the run left %+v", left)
	}
	s := awaitSkill(t, ns, "rates", soon, "the proposal", func(s *v1alpha1.Skill) bool {
		return s.Status.RevisionName == done.Status.Result.Skills.Updated[0].RevisionName
	})
	if !slices.Equal(s.Spec.Policy.Domains, []v1alpha1.Domain{"allowed.test:80"}) || s.Status.State != v1alpha1.SkillApproved {
		t.Errorf("after the run the skill is %+v with %+v", s.Status, s.Spec.Policy)
	}
	if r := s.Status.Review; r == nil || len(r.MissingDomains) != 1 || !strings.HasPrefix(r.MissingDomains[0], "sub.wild.test") {
		t.Errorf("its review says %+v", r)
	}
	wantNothingElseLeft(t)
}

// A run that can do nothing about a skill that does not work any more fails. Another run, which is made for that, finds out what has
// changed and writes the skill anew; a person approves it together with what it needs, and the next run of the skill succeeds.
func TestSecuritySkillIsRepairedByAnotherRun(t *testing.T) {
	t.Parallel()
	ns := modelNamespace(t, "research")
	createSkill(t, ns, "tariffs", "Get http://allowed.test/rates.", v1alpha1.SkillPolicy{Tools: []v1alpha1.ToolName{"fetch"}, Domains: []v1alpha1.Domain{"allowed.test:80"}})
	first := approved(t, ns, "tariffs")
	stuck := startSkillRun(t, ns, "skill-stuck", "tariffs", withLimits(v1alpha1.RunLimits{MaxIterations: 2}))
	ended := awaitRun(t, stuck, soon, "its end", func(r *v1alpha1.MotorRun) bool { return isTrue(r, v1alpha1.ConditionFinished) })
	if ended.Status.Phase != v1alpha1.PhaseFailed || failureAt(t, ended, 1).Message == "" {
		t.Errorf("the run that can do nothing ended as %s", ended.Status.Phase)
	}
	research := wantCompleted(t, startRun(t, "skill-research", inNamespace(ns), withDomains("sub.wild.test:80"), func(r *v1alpha1.MotorRun) {
		r.Spec.Tools = []v1alpha1.ToolName{"fetch", "write"}
	}), 2*soon)
	left := research.Status.Result.Skills
	if left == nil || len(left.Updated) != 1 || len(left.Created)+len(left.Rejected) != 0 || left.Updated[0].Name != "tariffs" {
		t.Fatalf("the run left %+v", left)
	}
	repaired := left.Updated[0].RevisionName
	s := awaitSkill(t, ns, "tariffs", soon, "the proposal", func(s *v1alpha1.Skill) bool { return s.Status.RevisionName == repaired && s.Status.Review != nil })
	if s.Status.State != v1alpha1.SkillApproved || s.Status.Approved.ContentHash != first.Status.ContentHash {
		t.Errorf("before anybody decides the skill is %+v", s.Status)
	}
	approveSkill(t, ns, "tariffs", "--revision", repaired, "--add-domain", "sub.wild.test:80")
	awaitSkill(t, ns, "tariffs", soon, "the approval of the proposal", func(s *v1alpha1.Skill) bool {
		return s.Status.State == v1alpha1.SkillApproved && s.Status.Approved.RevisionName == repaired
	})
	again := wantCompleted(t, startSkillRun(t, ns, "skill-tariffs", "tariffs"), 2*soon)
	if got := again.Status.Result; !strings.Contains(got.Summary, "EUR 1") || got.Skills != nil || again.Status.Skill.RevisionName != repaired {
		t.Errorf("the corrected skill came to %+v", got)
	}
	wantNothingElseLeft(t)
}

// A run reads how a service is used and writes a skill for it. The review says what the skill needs; a person grants all of it with the
// approval, and a run of the skill uses the credential without seeing it.
func TestSecuritySkillIsLearnedFromTheWeb(t *testing.T) {
	t.Parallel()
	ns := modelNamespace(t, "learnweb")
	learned := wantCompleted(t, startRun(t, "skill-learn", inNamespace(ns), withDomains("allowed.test:80"), func(r *v1alpha1.MotorRun) {
		r.Spec.Tools = []v1alpha1.ToolName{"fetch", "write"}
	}), 2*soon)
	if left := learned.Status.Result.Skills; left == nil || len(left.Created) != 1 || left.Created[0].Name != "greeter" || len(left.Rejected) != 0 {
		t.Fatalf("the run left %+v", left)
	}
	s := awaitState(t, ns, "greeter", v1alpha1.SkillAwaitingApproval)
	if r := s.Status.Review; r == nil || !slices.Equal(r.MissingDomains, []string{"api.test"}) || !slices.Equal(r.MissingCredentials, []string{"GREETER_KEY"}) ||
		!slices.Contains(r.MissingTools, "bash") {
		t.Errorf("its review says %+v", r)
	}
	var rev v1alpha1.SkillRevision
	must(t, suite.client.Get(t.Context(), types.NamespacedName{Namespace: ns, Name: s.Status.RevisionName}, &rev))
	if from := rev.Spec.ExtractedFrom; from == nil || len(from.Sources) != 1 || from.Sources[0].URL != "http://allowed.test/pages/greeter" || from.Sources[0].FetchTime.IsZero() {
		t.Errorf("it comes from %+v", from)
	}
	approveSkill(t, ns, "greeter", "--add-tool", "bash", "--add-domain", "api.test", "--add-credential", "greeter_key=api.test")
	awaitState(t, ns, "greeter", v1alpha1.SkillApproved)
	newSecret(t, ns, "greeter-key", world.value)
	used := wantCompleted(t, startSkillRun(t, ns, "skill-greet", "greeter", withCredential("greeter_key", "greeter-key", "Bearer", "api.test")), 2*soon)
	wantSaid(t, used, 0, "200")
	if !slices.ContainsFunc(requestsTo("api.test"), func(r received) bool {
		return r.header.Get("Mark") == "learned" && r.header.Get("Authorization") == "Bearer "+world.value
	}) {
		t.Error("the request of the skill came without the credential")
	}
	wantNoValueInSteps(t, used)
	wantNothingElseLeft(t)
}

// A host that has no answer for a moment is asked again, and nobody blames the skill for it.
func TestSecuritySkillIsNotBlamedForAHost(t *testing.T) {
	t.Parallel()
	ns := modelNamespace(t, "busy")
	createSkill(t, ns, "status", "Get http://allowed.test/busy.", v1alpha1.SkillPolicy{
		Tools: []v1alpha1.ToolName{"fetch", "edit"}, Domains: []v1alpha1.Domain{"allowed.test:80"},
	})
	before := approved(t, ns, "status")
	world.busy.Store(false)
	done := wantCompleted(t, startSkillRun(t, ns, "skill-busy", "status"), 2*soon)
	journal := wantWholeJournal(t, done)
	if r := journal[0].Status.Results[0]; !strings.Contains(r.Output, "503") && r.OK {
		t.Errorf("the first answer of the host is %+v", r)
	}
	if r := journal[1].Status.Results[0]; !r.OK || !strings.Contains(r.Output, "all is well") {
		t.Errorf("the second answer of the host is %+v", r)
	}
	after := awaitState(t, ns, "status", v1alpha1.SkillApproved)
	if done.Status.Result.Skills != nil || after.Status.ContentHash != before.Status.ContentHash || len(after.Status.Revisions) != 1 {
		t.Errorf("the run changed %+v, and the skill is %+v", done.Status.Result.Skills, after.Status)
	}
	if len(done.Status.Attempts) != 1 {
		t.Errorf("the run took %d attempts", len(done.Status.Attempts))
	}
	wantNothingElseLeft(t)
}

// A skill that was found online comes with what it says, and with nobody's approval.
func TestSecuritySkillFoundOnline(t *testing.T) {
	t.Parallel()
	ns := modelNamespace(t, "online")
	run := startRun(t, "skill-online", inNamespace(ns), withDomains("allowed.test:80"), func(r *v1alpha1.MotorRun) {
		r.Spec.Tools = []v1alpha1.ToolName{"fetch", "bash"}
	})
	left := wantCompleted(t, run, 2*soon).Status.Result.Skills
	if left == nil || len(left.Created) != 1 || left.Created[0].Name != "found-online" {
		t.Fatalf("the run left %+v", left)
	}
	s := awaitState(t, ns, "found-online", v1alpha1.SkillAwaitingApproval)
	if r := s.Status.Review; r == nil || !slices.Equal(r.MissingDomains, []string{"evil.test"}) || r.Findings != 1 {
		t.Errorf("its review says %+v", r)
	}
	var rev v1alpha1.SkillRevision
	must(t, suite.client.Get(t.Context(), types.NamespacedName{Namespace: ns, Name: s.Status.RevisionName}, &rev))
	if from := rev.Spec.ExtractedFrom; from == nil || from.RunName != run.Name || len(from.Sources) != 1 ||
		from.Sources[0].URL != "http://allowed.test/pages/SKILL.md" || from.Sources[0].FetchTime.IsZero() {
		t.Errorf("it comes from %+v", from)
	}
	if f := rev.Status.Findings; len(f) != 1 || f[0].Kind != v1alpha1.FindingUnknownKey || !strings.Contains(f[0].Message, "author") {
		t.Errorf("findings %+v", f)
	}
	wantNotAccepted(t, startSkillRun(t, ns, "answer", "found-online"), v1alpha1.ReasonSkillNotApproved, "not approved")
	wantNothingElseLeft(t)
}

// The packages of a skill are installed from the index that the namespace names, once, and nobody can change them.
func TestSecuritySkillPackages(t *testing.T) {
	t.Parallel()
	ns := modelNamespace(t, "packages")
	patchCortex(t, ns, fmt.Sprintf(`{"spec":{"packages":{"npm":"https://packages.test/npm","pip":"https://packages.test/simple",
		"apt":{"url":"https://packages.test/debian","suite":"stable","components":["main"],"keyring":%q},"caBundle":%q}}}`, packages().Key(), world.net.CA()))
	createSkill(t, ns, "tiny", "Use the packages.", v1alpha1.SkillPolicy{Tools: []v1alpha1.ToolName{"bash"}, Dependencies: &v1alpha1.SkillDependencies{
		NPM: []string{"tinytgz@1.0.0"}, Pip: []string{"tinywheel==1.0.0"}, Apt: []string{"tinydeb=1.0-1"},
	}})
	approved(t, ns, "tiny")
	s := awaitSkill(t, ns, "tiny", 3*soon, "its packages", func(s *v1alpha1.Skill) bool { return s.Status.Packages != nil && s.Status.Packages.Archive != nil })
	for range 2 {
		done := wantCompleted(t, startSkillRun(t, ns, "skill-packages", "tiny"), 2*soon)
		if got, want := codesOf(wantWholeJournal(t, done)), []string{"", "", "", "", "exit_1"}; !slices.Equal(got, want) {
			t.Errorf("codes %q, want %q", got, want)
		}
		if done.Status.Skill.Packages == nil || done.Status.Skill.Packages.SHA256 != s.Status.Packages.Archive.SHA256 {
			t.Errorf("the run used the packages %+v", done.Status.Skill.Packages)
		}
		// The fourth call looks for what maintainer scripts leave.
		want := []string{"tinywheel", "tinytgz", "/packages/root/usr/bin/tinydeb\ntinydeb", ""}
		if got := said(t, done); len(got) != 5 || !slices.Equal(got[:4], want) || !strings.Contains(got[4], "Read-only file system") {
			t.Errorf("the run saw %q", got)
		}
	}
	var installs v1alpha1.MotorRunList
	must(t, suite.client.List(t.Context(), &installs, client.InNamespace(ns)))
	if n := len(slices.DeleteFunc(installs.Items, func(r v1alpha1.MotorRun) bool { return r.Spec.Mode != v1alpha1.ModeInstall })); n != 1 {
		t.Errorf("the packages were installed %d times", n)
	}
	wantNothingElseLeft(t)
}
