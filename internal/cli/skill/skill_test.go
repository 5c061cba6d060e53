// SPDX-License-Identifier: Apache-2.0

package skill_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	cli "motorcortex.dev/motorcortex/internal/cli/skill"
	"motorcortex.dev/motorcortex/internal/cli/verb"
)

func TestVerbs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for name, tt := range map[string]struct {
		args []string
		code int
		says string
	}{
		"none":                   {nil, 4, "Usage:"},
		"unknown":                {[]string{"sign"}, 4, `no verb "sign"`},
		"help":                   {[]string{"--help"}, 0, "Usage:"},
		"help of a verb":         {[]string{"approve", "--help"}, 0, "--add-domain"},
		"an unknown flag":        {[]string{"reject", "weather", "--note-", "x"}, 4, "unknown flag"},
		"no name":                {[]string{"approve"}, 4, "the NAME of the skill is missing"},
		"two names":              {[]string{"diff", "weather", "wind"}, 4, "too many arguments: wind"},
		"three names":            {[]string{"export", "weather", "a", "b", "c"}, 4, "too many arguments: b c"},
		"no such skill":          {[]string{"approve", "wind"}, 1, `"wind" not found`},
		"no such revision":       {[]string{"approve", "weather", "--revision", "weather-0"}, 1, `"weather-0" not found`},
		"no time to come":        {[]string{"approve", "weather", "--expires", "-1h"}, 4, "no time to come"},
		"a time that is none":    {[]string{"approve", "weather", "--expires", "soon"}, 4, "no time to come"},
		"a domain that is none":  {[]string{"approve", "weather", "--add-domain", "https://a.example.org/"}, 1, "the policy cannot be granted"},
		"a package of nowhere":   {[]string{"approve", "weather", "--add-package", "requests==2.32.3"}, 4, "does not say where the package is from"},
		"a package without one":  {[]string{"approve", "weather", "--add-package", "pip:"}, 4, "does not say where the package is from"},
		"a credential for none":  {[]string{"approve", "weather", "--add-credential", "weather_key"}, 4, "does not say which hosts the value goes to"},
		"a credential elsewhere": {[]string{"approve", "weather", "--add-credential", "weather_key=b.example.org"}, 1, "is not within spec.policy.domains"},
		"no such policy":         {[]string{"approve", "weather", "--policy", "/nonexistent"}, 1, "no such file"},
		"no folder to hash":      {[]string{"hash"}, 4, "the DIR with the files is missing"},
		"a folder that is none":  {[]string{"hash", "/nonexistent"}, 1, "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, out, errs := r.run(tt.args...)
			if code != tt.code || !strings.Contains(out+errs, tt.says) || (code == 0) != (errs == "") {
				t.Errorf("code %d, prints %q, complains %q", code, out, errs)
			}
		})
	}
	var errs strings.Builder
	c := cli.Command{Streams: verb.Streams{Err: &errs}, Connect: func() (client.WithWatch, string, error) { return nil, "", errors.New("no kubeconfig") }}
	if code := carryOut(t, c, []string{"approve", "weather"}); code != verb.ExitFailed || !strings.Contains(errs.String(), "no kubeconfig") {
		t.Errorf("without a cluster: %d, %s", code, &errs)
	}
}

func TestRevisionsOfOthers(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(s *v1alpha1.Skill) { s.Status.RevisionName, s.Status.Message = "", "There is no source." })
	other := r.put(&v1alpha1.Skill{ObjectMeta: metav1.ObjectMeta{Name: "wind", Namespace: "ns", UID: "wind-uid"}}, map[string]string{"SKILL.md": manifest})
	for name, code := range map[string]int{"export": 1, "diff": 5, "approve": 1, "reject": 1} {
		r.want(code, []string{name, "weather"}, "has no revision yet: There is no source.")
		r.want(code, []string{name, "weather", "--revision", other.Name}, "is not one of the Skill weather")
	}
	if len(r.patches) > 0 {
		t.Errorf("sent are %s", r.patches)
	}
}

func TestExport(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	dir := filepath.Join(t.TempDir(), "deep", "weather")
	r.want(0, []string{"export", "weather", dir, "--revision", r.first.Name},
		dir+"/scripts/send.sh\n", "3 files of SkillRevision ns/"+r.first.Name, "contentHash: "+r.first.Spec.ContentHash)
	first := map[string]string{"SKILL.md": manifest, "scripts/send.sh": "x #!/bin/sh\necho one\n", "references/old.md": "old\n"}
	if diff := cmp.Diff(first, folder(t, dir)); diff != "" {
		t.Fatal(diff)
	}
	fill(t, dir, map[string]string{"notes.yaml": "gone", "scripts/draft.sh": "gone", "scripts/debug.log": "kept"})
	r.want(1, []string{"export", "weather", dir}, "is not empty: --force")
	r.want(0, []string{"export", "weather", dir, "--force"}, r.second.Spec.ContentHash)
	second := map[string]string{
		"SKILL.md": manifest + "Twice.", "scripts/send.sh": "x #!/bin/sh\necho \x1b[31mtwo\n", "assets/logo.png": "\x89\xff", "scripts/debug.log": "kept",
	}
	if diff := cmp.Diff(second, folder(t, dir)); diff != "" {
		t.Error(diff)
	}
	other := t.TempDir()
	fill(t, other, map[string]string{"thesis.md": "mine"})
	r.want(1, []string{"export", "weather", other, "--force"}, "is not empty, and has no SKILL.md")
	if diff := cmp.Diff(map[string]string{"thesis.md": "mine"}, folder(t, other)); diff != "" {
		t.Error(diff)
	}
	// The exported folder has the hash of the exported revision.
	r.want(0, []string{"hash", dir}, "contentHash: "+r.second.Spec.ContentHash)
}

func TestExportIntoTheCurrentFolder(t *testing.T) {
	r := newRig(t)
	dir := t.TempDir()
	t.Chdir(dir)
	r.want(0, []string{"export", "weather"}, "weather/SKILL.md")
	if len(folder(t, filepath.Join(dir, "weather"))) != 3 {
		t.Error("the files are not in the folder of the skill's name")
	}
}

// Nothing is written but into the folder, whatever was put there.
func TestExportStaysInTheFolder(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	outside := t.TempDir()
	fill(t, outside, map[string]string{"secret": "kept", "send.sh": "kept"})
	for name, link := range map[string]string{"a file": "SKILL.md", "a folder": "scripts"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			target := outside
			if link == "SKILL.md" {
				target = filepath.Join(outside, "secret")
			}
			if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
				t.Fatal(err)
			}
			r.run("export", "weather", dir, "--force")
			if diff := cmp.Diff(map[string]string{"secret": "kept", "send.sh": "kept"}, folder(t, outside)); diff != "" {
				t.Error(diff)
			}
		})
	}
	hostile := r.put(r.skill(), map[string]string{"../../out": "out", "SKILL.md": manifest})
	dir := t.TempDir()
	r.want(1, []string{"export", "weather", filepath.Join(dir, "a", "b"), "--revision", hostile.Name}, "escapes")
	if _, err := os.Stat(filepath.Join(dir, "out")); err == nil {
		t.Error("a file is outside of the folder")
	}
}

func TestDiff(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.want(0, []string{"diff", "weather", "--revision", r.first.Name})
	const want = `--- a/SKILL.md
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
`
	code, out, errs := r.run("diff", "weather")
	if diff := cmp.Diff(want, out); code != verb.ExitFailed || diff != "" || errs != "" {
		t.Errorf("code %d, %s%s", code, errs, diff)
	}
	fresh := newRig(t, func(s *v1alpha1.Skill) { s.Status.Approved = nil })
	fresh.want(1, []string{"diff", "weather"}, "nothing was approved yet", "+name: weather", "program scripts/send.sh: false is now true")
	long := r.put(r.skill(), map[string]string{"SKILL.md": manifest + strings.Repeat("x\n", 5000), "scripts/send.sh": "#!/bin/sh\necho one\n"})
	r.want(1, []string{"diff", "weather", "--revision", long.Name}, "@@ -3,3 +3,5003 @@", "+x\n+x\n")
	gone := newRig(t, func(s *v1alpha1.Skill) { s.Status.Approved.RevisionName = "weather-0" })
	gone.want(5, []string{"diff", "weather"}, `"weather-0" not found`)
}
