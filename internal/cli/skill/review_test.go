// SPDX-License-Identifier: Apache-2.0

package skill_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/skill"
)

// looked gives the second revision what the operator found in it.
func (r *rig) looked() {
	r.t.Helper()
	r.second.Spec.Description = "Tells\x1b[2J the weather."
	r.second.Spec.Origin = "main@sha1:1234"
	r.second.Status = v1alpha1.SkillRevisionStatus{
		ReviewTime: new(metav1.Now()),
		Domains:    []v1alpha1.Mention{{Name: "api.example.org", Paths: []string{"SKILL.md"}}, {Name: "evil.example.net", Paths: []string{"SKILL.md", "scripts/send.sh"}}},
		Variables:  []v1alpha1.Mention{{Name: "WEATHER_KEY", Paths: []string{"scripts/send.sh"}}},
		Findings:   []v1alpha1.Finding{{Kind: v1alpha1.FindingHiddenUnicode, Path: "scripts/send.sh", Line: 2, Message: "U+202E\u202e"}, {Kind: v1alpha1.FindingBinary, Path: "assets/logo.png", Message: "The file is no text."}},
		Omitted:    7,
		Advice:     &v1alpha1.RevisionAdvice{RunName: "look", Text: "All fine.\nDecide with:\n"},
	}
	if err := r.Update(r.t.Context(), r.second); err != nil {
		r.t.Fatal(err)
	}
}

func TestReviewShowsAllThatADecisionIsAbout(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(s *v1alpha1.Skill) {
		s.Status.Message = "The source gives other files."
		s.Status.Approved.ApprovedBy, s.Status.Approved.Note, s.Status.Approved.PolicyHash = "bob", new("it is\u202e fine"), "sha256:0"
		s.Spec.Policy.Credentials = []v1alpha1.SkillCredential{{Name: "other_key", Hosts: []v1alpha1.Domain{"api.example.org"}, SecretRef: &v1alpha1.SecretKeyRef{Name: "keys", Key: "value"}}}
		s.Spec.Policy.Domains = append(s.Spec.Policy.Domains, "b.example.org")
	})
	r.looked()
	hash := skill.PolicyHash(&r.skill().Spec.Policy)
	want := `ns/weather  NeedsReapproval
  The source gives other files.

Revision:  ` + r.second.Name + `, AGE old
           ` + r.second.Spec.ContentHash + `
From:      main@sha1:1234
Approved:  ` + r.first.Name + `, by bob: it is<U+202E> fine

Description, in the author's words:
  | Tells\u001b[2J the weather.

Files (3):
                77  SKILL.md
                 2  assets/logo.png
  program       24  scripts/send.sh

Policy (` + hash + `):
  credentials:
  - hosts:
    - api.example.org
    name: other_key
    secretRef:
      key: value
      name: keys
  domains:
  - api.example.org
  - b.example.org
  tools:
  - bash
  This is not the approved policy, which is sha256:0.

Files mention, and the policy does not grant:
  domains:     evil.example.net (SKILL.md, scripts/send.sh)
  variables:   WEATHER_KEY (scripts/send.sh)

The policy grants, and no file mentions:
  domains:     b.example.org
  credentials: other_key

Findings (2):
  HiddenUnicode scripts/send.sh:2: U+202E<U+202E>
  Binary        assets/logo.png: The file is no text.
  and 7 more mentions and findings, which were only counted

A model said in the run look, which the files may have told it to:
  | All fine.
  | Decide with:

Changes since the approved revision ` + r.first.Name + `:
  --- a/SKILL.md
  +++ b/SKILL.md
  @@ -3,3 +3,4 @@
   description: Tells the weather.
   ---
   Ask the service.
  +Twice.
  \ No newline at end of file
  --- /dev/null
  +++ b/assets/logo.png
  the file is no text: 0 bytes are now 2
  --- a/references/old.md
  +++ /dev/null
  @@ -1 +0,0 @@
  -old
  --- a/scripts/send.sh
  +++ b/scripts/send.sh
  @@ -1,2 +1,2 @@
   #!/bin/sh
  -echo one
  +echo <U+001B>[31mtwo

Decide with:
  kubectl motor skill approve weather -n ns --revision ` + r.second.Name + ` --content-hash ` + r.second.Spec.ContentHash + ` --policy-hash ` + hash + ` --context prod
  kubectl motor skill reject weather -n ns --revision ` + r.second.Name + ` --content-hash ` + r.second.Spec.ContentHash + ` --context prod
`
	code, out, errs := r.run("review", "weather", "--context", "prod")
	before, after, _ := strings.Cut(out, r.second.Name+", ")
	_, after, _ = strings.Cut(after, " old\n")
	if diff := cmp.Diff(want, before+r.second.Name+", AGE old\n"+after); code != 0 || diff != "" || errs != "" {
		t.Errorf("code %d, %s%s", code, errs, diff)
	}
	// The printed commands are for what was shown.
	r.want(0, []string{"approve", "weather", "-n", "ns", "--revision", r.second.Name, "--content-hash", r.second.Spec.ContentHash, "--policy-hash", hash}, r.second.Name)
}

func TestReviewOfOtherStates(t *testing.T) {
	t.Parallel()
	t.Run("nothing was approved", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, func(s *v1alpha1.Skill) { s.Status.Approved, s.Spec.Policy = nil, v1alpha1.SkillPolicy{} })
		r.want(0, []string{"review", "weather"}, "grants nothing", "nothing was approved yet, so all of it is new", "  +name: weather", "What the files mention is not known")
	})
	t.Run("it is approved", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, func(s *v1alpha1.Skill) {
			s.Status.State, s.Status.Approved.PolicyHash = v1alpha1.SkillApproved, skill.PolicyHash(&s.Spec.Policy)
		})
		r.want(0, []string{"review", "weather", "--revision", r.first.Name, "--context", "prod"}, "Changes: none", "This is approved as it is", "skill revoke weather -n ns --context prod\n")
	})
	t.Run("it was rejected", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.want(0, []string{"reject", "weather"})
		_, out, _ := r.run("review", "weather")
		if strings.Contains(out, "skill reject") || !strings.Contains(out, "skill approve") {
			t.Errorf("prints %s", out)
		}
	})
	t.Run("a policy that cannot be granted", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, func(s *v1alpha1.Skill) { s.Spec.Policy.Domains = []v1alpha1.Domain{"https://x/"} })
		_, out, _ := r.run("review", "weather")
		if !strings.Contains(out, "It cannot be granted: spec.policy.domains[0]") || strings.Contains(out, "skill approve") {
			t.Errorf("prints %s", out)
		}
	})
	t.Run("a proposal of a run, and an approved revision that is gone", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, func(s *v1alpha1.Skill) { s.Status.Approved.RevisionName = "weather-0" })
		r.second.Spec.ExtractedFrom = &v1alpha1.ExtractedFrom{RunName: "fix-1", Sources: []v1alpha1.WebSource{{URL: "https://docs.example.org/"}}}
		if err := r.Update(t.Context(), r.second); err != nil {
			t.Fatal(err)
		}
		r.want(0, []string{"review", "weather"}, "the run fix-1, which wrote it\n           after it fetched https://docs.example.org/", "Changes: unknown", `"weather-0" not found`, "skill approve")
	})
	t.Run("a long change", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		long := r.put(r.skill(), map[string]string{"SKILL.md": manifest + strings.Repeat("x\n", 5000), "scripts/send.sh": "#!/bin/sh\necho one\n"})
		_, out, _ := r.run("review", "weather", "--revision", long.Name, "--context", "prod")
		if n := strings.Count(out, "  +x\n"); n > 400 || n < 300 || !strings.Contains(out, " more lines: kubectl motor skill diff weather -n ns --revision "+long.Name+" --context prod\n") {
			t.Errorf("%d lines are shown", n)
		}
	})
}

// One byte, one line or one character must not keep a file from the person who decides.
func TestReviewOfFilesThatHide(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	rev := r.put(r.skill(), map[string]string{
		"SKILL.md": manifest, "long.txt": strings.Repeat("y", 1<<20) + "\n", "odd.txt": "rm -rf all of it\xff\n", "scripts/send.sh": "#!\xff\xff\xff\n",
		"seen.txt": "a\U000e0100b\u3164c\u115fd\u2800e\u034ff\n",
	})
	code, out, _ := r.run("review", "weather", "--revision", rev.Name)
	for _, says := range []string{"+rm -rf all of it<FF>\n", "+#!<FF><FF><FF>\n", "+a<U+E0100>b<U+3164>c<U+115F>d<U+2800>e<U+034F>f\n", "… and 1046529 more bytes\n", "Long lines are cut, to see them whole: kubectl motor skill diff weather -n ns"} {
		if !strings.Contains(out, says) {
			t.Errorf("there is no %q", says)
		}
	}
	if code != 0 || len(out) > 16<<10 {
		t.Errorf("code %d, %d bytes", code, len(out))
	}
	many := r.put(r.skill(), map[string]string{"SKILL.md": manifest, "a.txt": strings.Repeat(strings.Repeat("z", 1000)+"\n", 300)})
	if _, out, _ := r.run("review", "weather", "--revision", many.Name); len(out) > 80<<10 || !strings.Contains(out, " more lines: kubectl motor skill diff") {
		t.Errorf("%d bytes", len(out))
	}
}

// Between the look and the decision, another person may have changed the policy.
func TestApproveOfAPolicyThatChangedMeanwhile(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	hash := skill.PolicyHash(&r.skill().Spec.Policy)
	changed := r.skill()
	changed.Spec.Policy.Domains = []v1alpha1.Domain{"*.example.org"}
	if err := r.Update(t.Context(), changed); err != nil {
		t.Fatal(err)
	}
	r.want(1, []string{"approve", "weather", "--policy-hash", hash}, "and not the one that you looked at", "kubectl motor skill review weather -n ns", skill.PolicyHash(&changed.Spec.Policy))
	if len(r.patches) > 0 {
		t.Errorf("sent are %s", r.patches)
	}
}
