// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/skill"
	skillstore "motorcortex.dev/motorcortex/internal/skill/store"
	"motorcortex.dev/motorcortex/test/fakecluster"
)

const manifest = "---\nname: weather\ndescription: Tells the weather.\n---\nAsk.\n"

// weather is a skill of two revisions, of which the first is approved.
func weather(t *testing.T) (c *fakecluster.Cluster, old, now *v1alpha1.SkillRevision) {
	t.Helper()
	s := &v1alpha1.Skill{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "weather", UID: "uid-of-weather", Generation: 1}}
	s.Spec.Policy = v1alpha1.SkillPolicy{Tools: []v1alpha1.ToolName{"bash"}}
	c = fakecluster.New(t, s)
	store := &skillstore.Store{Client: c, Live: c}
	put := func(files ...skill.File) *v1alpha1.SkillRevision {
		rev, err := store.Put(t.Context(), s, v1alpha1.SkillRevisionSpec{SkillName: s.Name}, files)
		if err != nil {
			t.Fatal(err)
		}
		return rev
	}
	md := skill.File{Path: "SKILL.md", Content: []byte(manifest)}
	old = put(md, skill.File{Path: "assets/logo", Content: []byte{0, 1}}, skill.File{Path: "scripts/gone.sh", Content: []byte("ls\n")}, skill.File{Path: "scripts/run.sh", Content: []byte("ls\n")})
	now = put(md, skill.File{Path: "assets/logo", Content: []byte{0, 1, 2}}, skill.File{Path: "scripts/new.sh", Content: []byte("\\u202e\n")},
		skill.File{Path: "scripts/run.sh", Content: []byte("ls\u202e\n"), Executable: true})
	if err := c.Get(t.Context(), keyOf(s), s); err != nil {
		t.Fatal(err)
	}
	s.Status = v1alpha1.SkillStatus{
		State: v1alpha1.SkillNeedsReapproval, RevisionName: now.Name, ContentHash: now.Spec.ContentHash,
		Approved: &v1alpha1.ApprovedRevision{RevisionName: old.Name, ContentHash: old.Spec.ContentHash, PolicyHash: "sha256:other", ApprovedBy: "erin"},
		Source:   &v1alpha1.SkillSourceStatus{ContentHash: now.Spec.ContentHash},
	}
	if err := c.Status().Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	return c, old, now
}

// shownSkill is the skill as the page shows it.
func (r *rig) shownSkill() map[string]any {
	r.t.Helper()
	var answer struct{ Skill map[string]any }
	if status, raw := r.asks(http.MethodGet, "/api/skills/ns/weather", "", &answer); status != http.StatusOK {
		r.t.Fatalf("%d: %s", status, raw)
	}
	return answer.Skill
}

// decides sends a verdict about what was shown.
func (r *rig) decides(verb string, shown map[string]any, change func(map[string]any)) (status int, raw string) {
	r.t.Helper()
	body := map[string]any{"note": "looked at"}
	for _, key := range []string{"uid", "revision", "contentHash", "policyHash", "seen"} {
		body[key] = shown[key]
	}
	if change != nil {
		change(body)
	}
	b, err := json.Marshal(body)
	if err != nil {
		r.t.Fatal(err)
	}
	return r.asks(http.MethodPost, "/api/skills/ns/weather/"+verb, string(b), nil)
}

func (r *rig) skill() *v1alpha1.Skill {
	r.t.Helper()
	s := &v1alpha1.Skill{}
	if err := r.Get(r.t.Context(), client.ObjectKey{Namespace: "ns", Name: "weather"}, s); err != nil {
		r.t.Fatal(err)
	}
	return s
}

func TestASkillIsApprovedAsItWasShown(t *testing.T) {
	t.Parallel()
	c, _, now := weather(t)
	r := newRig(t, c)
	shown := r.shownSkill()
	for name, change := range map[string]func(map[string]any){
		"another content": func(b map[string]any) { b["contentHash"] = "sha256:0" },
		"another policy":  func(b map[string]any) { b["policyHash"] = "sha256:0" },
		"another skill":   func(b map[string]any) { b["uid"] = "other" },
		"a former newest": func(b map[string]any) {
			b["seen"] = map[string]any{"newest": "weather-0", "source": now.Spec.ContentHash}
		},
		"a former source":   func(b map[string]any) { b["seen"] = map[string]any{"newest": now.Name, "source": "sha256:0"} },
		"nothing seen":      func(b map[string]any) { delete(b, "seen") },
		"no such revision":  func(b map[string]any) { b["revision"] = "weather-0" },
		"the newest it has": func(b map[string]any) { b["revision"] = "" },
	} {
		for _, verb := range []string{"approve", "reject"} {
			if status, raw := r.decides(verb, maps.Clone(shown), change); status == http.StatusOK {
				t.Errorf("%s, %s: %s", verb, name, raw)
			}
		}
	}
	if s := r.skill(); s.Spec.Approval != nil || len(s.Spec.Rejections) > 0 {
		t.Fatalf("%+v", s.Spec)
	}
	if status, raw := r.decides("approve", shown, nil); status != http.StatusOK {
		t.Fatalf("%d: %s", status, raw)
	}
	s := r.skill()
	a := s.Spec.Approval
	if a == nil || a.ContentHash != now.Spec.ContentHash || a.PolicyHash != skill.PolicyHash(&s.Spec.Policy) || a.ApprovedBy != fakecluster.User || a.Account != fakecluster.User || a.Note != "looked at" {
		t.Errorf("%+v", a)
	}
}

func TestASkillIsRejectedOnce(t *testing.T) {
	t.Parallel()
	c, _, now := weather(t)
	r := newRig(t, c)
	if status, raw := r.decides("reject", r.shownSkill(), nil); status != http.StatusOK {
		t.Fatalf("%d: %s", status, raw)
	}
	if list := r.skill().Spec.Rejections; len(list) != 1 || list[0].ContentHash != now.Spec.ContentHash || list[0].RejectedBy != fakecluster.User {
		t.Errorf("%+v", list)
	}
	if status, raw := r.decides("reject", r.shownSkill(), nil); status != http.StatusConflict || !strings.Contains(raw, "rejected already") {
		t.Errorf("%d: %s", status, raw)
	}
}

func TestFilesAreComparedWithTheApprovedOnes(t *testing.T) {
	t.Parallel()
	c, old, now := weather(t)
	r := newRig(t, c)
	shown := r.shownSkill()
	changes := map[string]any{}
	for _, f := range shown["files"].([]any) {
		file := f.(map[string]any)
		changes[file["path"].(string)] = file["change"]
	}
	for path, want := range map[string]any{"SKILL.md": nil, "assets/logo": "changed", "scripts/new.sh": "added", "scripts/run.sh": "changed", "scripts/gone.sh": "deleted"} {
		if changes[path] != want {
			t.Errorf("%s is %v, want %v", path, changes[path], want)
		}
	}
	for path, want := range map[string][]string{
		"scripts/run.sh": {`-ls\n+ls\\u202e`, `"program":true`, `"wasProgram":false`}, "scripts/gone.sh": {`-ls`}, "scripts/new.sh": {`+\\u202e`},
		"assets/logo": {"The file is no text: 2 bytes are now 3."}, "SKILL.md": {`"diff":""`}, "no/such": {`"diff":""`},
	} {
		q := url.Values{"revision": {now.Name}, "base": {old.Name}, "path": {path}}
		r.want(http.StatusOK, http.MethodGet, "/api/skills/ns/weather/diff?"+q.Encode(), "", want...)
	}
	r.want(http.StatusBadRequest, http.MethodGet, "/api/skills/ns/weather/diff?path=SKILL.md", "", "revision is missing")
	// Any two revisions can be compared, and what is approved is said as before.
	r.want(http.StatusOK, http.MethodGet, "/api/skills/ns/weather?revision="+old.Name+"&base="+now.Name, "", `"base":"`+now.Name+`"`, `"approved":{"revision":"`+old.Name+`"`,
		`{"path":"scripts/gone.sh","size":3,"change":"added"`, `{"path":"scripts/new.sh","size":0,"change":"deleted"`)
	r.want(http.StatusNotFound, http.MethodGet, "/api/skills/ns/weather?base=other", "")
	// A character and its escape look the same, so it is said that they are not.
	q := url.Values{"revision": {now.Name}, "base": {old.Name}, "path": {"scripts/new.sh"}}
	if _, raw := r.asks(http.MethodGet, "/api/skills/ns/weather/diff?"+q.Encode(), "", nil); strings.Contains(raw, "look the same") {
		t.Errorf("%s", raw)
	}
}

func TestOnlyAPersonWithTheRightIsAskedToDecide(t *testing.T) {
	t.Parallel()
	c, _, _ := weather(t)
	r := newRig(t, c)
	if shown := r.shownSkill(); shown["mayApprove"] != true {
		t.Errorf("%v", shown)
	}
	c.Deny("approve skills")
	if shown := r.shownSkill(); shown["mayApprove"] != false || shown["approverRole"] != "motorcortex-skill-approver" {
		t.Errorf("%v", shown)
	}
	c.Deny("list skills")
	r.want(http.StatusForbidden, http.MethodGet, "/api/skills", "", "motorcortex-viewer")
}

// A person who cannot read the files is told before they decide, and approves nothing unseen.
func TestAPersonWhoCannotReadTheFilesDoesNotApproveThem(t *testing.T) {
	t.Parallel()
	c, _, _ := weather(t)
	r := newRig(t, c)
	if shown := r.shownSkill(); shown["unreadable"] != nil {
		t.Errorf("%v", shown)
	}
	c.Deny("get configmaps")
	shown := r.shownSkill()
	if why, _ := shown["unreadable"].(string); !strings.Contains(why, "motorcortex-skill-approver") || shown["mayApprove"] != true {
		t.Errorf("%v", shown)
	}
	if status, raw := r.decides("approve", shown, nil); status != http.StatusForbidden || !strings.Contains(raw, "Nothing was sent") {
		t.Errorf("%d: %s", status, raw)
	}
	if status, raw := r.decides("reject", shown, nil); status != http.StatusOK {
		t.Errorf("%d: %s", status, raw)
	}
}
