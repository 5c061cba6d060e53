// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	rbacv1 "k8s.io/api/rbac/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// operates has the operator look at a skill all the time, until the test ends or stop is called.
func (r *skillRig) operates(name string) (stop func()) {
	r.key, r.now = client.ObjectKey{Namespace: r.ns, Name: name}, time.Now()
	ctx, cancel := context.WithCancel(r.ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			// What fails now is tried again: a person writes the skill meanwhile.
			_, _ = r.rec.Reconcile(ctx, ctrl.Request{NamespacedName: r.key})
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	stop = func() { cancel(); wg.Wait() }
	r.t.Cleanup(stop)
	return stop
}

// skillFolder writes a folder with these files, each a path and a content, and returns its path.
func skillFolder(t *testing.T, name string, files ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	for i := 0; i+1 < len(files); i += 2 {
		path := filepath.Join(dir, files[i])
		must(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(files[i+1]), 0o600)))
	}
	return dir
}

const (
	mayImport  = "get,list,create,update,patch skills"
	mayDecide  = "get,list,patch,approve skills"
	mayReviews = "get,list skillrevisions"
)

// From a folder to a skill that is approved, changed and rejected, with the plugin alone.
func TestASkillIsImportedReviewedAndDecided(t *testing.T) {
	r := newSkillRig(t)
	r.operates("mail")
	will := sitsIn(r.ctx, t, r.ns, "will@"+r.ns, mayImport)
	anna := sitsIn(r.ctx, t, r.ns, "anna@"+r.ns, mayDecide, mayReviews, "get configmaps")
	dir := skillFolder(t, "mail", "SKILL.md", skillMD("mail", "Ask https://api.mail.test/."), "scripts/send.sh", "#!/bin/sh\necho one\n",
		"../mail.yaml", "tools: [bash]\ndomains: [api.mail.test]\ninputs:\n- {name: to}\n")
	anna.want(0, "skill list", "There are no skills.")
	will.want(0, "skill lint --strict "+dir, "0 errors, 0 warnings")
	will.want(0, "skill import "+dir+" -o yaml", "kind: Skill")
	will.want(0, "skill import "+dir, "skill.motorcortex.dev/mail created", "state:       AwaitingApproval")
	first := r.skill()
	anna.want(0, "skill list", "AwaitingApproval", "an approval of "+first.Status.RevisionName)
	anna.want(1, "skill list -A", "forbidden")
	anna.want(0, "skill review mail", "scripts/send.sh", "nothing was approved yet", "type: string", "kubectl motor skill reject mail -n "+r.ns)
	will.want(1, "skill approve mail", "forbidden")
	approve := "skill approve mail -n " + r.ns + " --revision " + first.Status.RevisionName + " --content-hash " + first.Status.ContentHash + " --policy-hash " + first.Status.PolicyHash
	_, out, _ := anna.does("skill", "review", "mail")
	if !strings.Contains(out, "  kubectl motor "+approve+" --kubeconfig ") {
		t.Fatalf("the command is not printed that approves it:\n%s", out)
	}
	anna.want(0, approve, "state:       Approved")
	anna.want(0, "skill review mail", "This is approved as it is")

	// Other files end the approval, and leave it where it was. A command that was printed before is for what was shown then.
	must(t, os.WriteFile(filepath.Join(dir, "scripts", "send.sh"), []byte("#!/bin/sh\necho two\n"), 0o600))
	will.want(0, "skill import "+dir, "skill.motorcortex.dev/mail configured", "state:       NeedsReapproval")
	anna.want(0, "skill list", "an approval of the changed files")
	anna.want(0, "skill review mail", "  -echo one\n  +echo two\n", "Changes since the approved revision "+first.Status.RevisionName)
	will.want(0, "skill import "+dir, "skill.motorcortex.dev/mail unchanged")
	must(t, os.WriteFile(dir+".yaml", []byte("tools: [bash]\ndomains: [api.mail.test, evil.test]\n"), 0o600))
	will.want(0, "skill import "+dir, "configured")
	anna.want(1, approve, "and not the one that you looked at")
	anna.want(0, "skill reject mail --note no", "rejectedBy:  anna@"+r.ns)
	if s := r.skill(); len(s.Spec.Rejections) != 1 || s.Spec.Approval == nil || s.Spec.Approval.ContentHash != first.Status.ContentHash {
		t.Errorf("spec %+v", s.Spec)
	}
	will.want(1, "skill import flux://GitRepository/x/mail --policy "+dir+".yaml -n none", "forbidden")
}

// The shipped role is enough to read the files and to approve them. A person without it is told which one it is.
func TestTheShippedRoleReadsWhatItApproves(t *testing.T) {
	r := newSkillRig(t)
	r.operates("mail")
	will := sitsIn(r.ctx, t, r.ns, "will@"+r.ns, mayImport)
	with := func(role string) *terminal {
		user := role + "@" + r.ns
		bind(r.ctx, t, r.ns, user, rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role})
		awaitRight(r.ctx, t, user, attributes(r.ns, "list motorcortex.dev skills"))
		return &terminal{t: t, config: kubeconfig(t, r.ns, user)}
	}
	erin, vera := with("motorcortex-skill-approver"), with("motorcortex-viewer")
	will.want(0, "skill import "+skillFolder(t, "mail", "SKILL.md", skillMD("mail", "Send."), "scripts/send.sh", "#!/bin/sh\necho one\n"),
		"state:       AwaitingApproval", "kubectl motor skill review mail -n "+r.ns)
	vera.want(1, "skill review mail", "forbidden", "ClusterRole motorcortex-skill-approver")
	vera.want(1, "skill approve mail", "ClusterRole motorcortex-skill-approver")
	erin.want(0, "skill review mail", "+echo one")
	erin.want(0, "inbox", "SKILL", "an approval of "+r.skill().Status.RevisionName, "kubectl motor skill review mail -n "+r.ns, "motorcortex-viewer")
	erin.want(1, "list", "ClusterRole motorcortex-viewer")
	vera.want(0, "inbox", "1 more for people with other rights")
	erin.want(4, "skill approve mail", "--content-hash")
	erin.types("n\n").want(1, "skill approve mail", "+echo one", "nothing was sent")
	erin.types("y\n").want(0, "skill approve mail", "state:       Approved")
	erin.want(0, "inbox", "Nothing waits for you")
}

// The operator gets from the registry what was pushed there.
func TestAPushedSkillIsRead(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("DOCKER_CONFIG", dir)
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	ctx := testContext(t)
	r := &skillRig{passes: passes{t: t, ctx: ctx, ns: newNamespace(ctx, t)}}
	r.readsSources()
	will := sitsIn(ctx, t, r.ns, "will@"+r.ns, mayImport)
	reference := strings.TrimPrefix(server.URL, "http://") + "/skills/mail:v1"
	files := skillFolder(t, "mail", "SKILL.md", skillMD("mail", "Send."), "assets/logo.png", "\x89\xff\x00")
	will.want(0, "skill push "+files+" "+reference, "digest:      sha256:")
	r.operates("mail")
	will.want(0, "skill import oci://"+reference, "created", "state:       AwaitingApproval")
	rev := r.revision(r.skill().Status.RevisionName)
	if src := r.skill().Status.Source; len(rev.Spec.Files) != 2 || src == nil || !strings.HasPrefix(src.Origin, "sha256:") || rev.Spec.ContentHash != src.ContentHash {
		t.Errorf("revision %+v, source %+v", rev.Spec, src)
	}
}
