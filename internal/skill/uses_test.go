// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestTools(t *testing.T) {
	t.Parallel()
	for allowed, want := range map[string]string{
		"": "", "Bash(git add:*) Read, WebFetch": "bash fetch read", "read Read bash_tool Task": "read", "python,LS": "code list",
	} {
		if got := strings.Join(Tools(allowed), " "); got != want {
			t.Errorf("%q: %s, want %s", allowed, got, want)
		}
	}
}

func TestFactsOfUses(t *testing.T) {
	t.Parallel()
	s := Facts([]File{
		{Path: ManifestName, Content: []byte("Run `pip install -q requests==2.1 'pandas'` or:\n```bash\nnpm i @scope/x@1.0 left-pad\n```\n")},
		{Path: "setup.sh", Content: []byte("sudo apt-get install -y jq=1.7 && echo done\n")}, {Path: "a.txt", Content: []byte("nothing")},
	}, nil)
	if got := namesOf(s.Packages); got != "apt:jq npm:@scope/x npm:left-pad pip:requests" {
		t.Errorf("packages %q", got)
	}
	if diff := cmp.Diff([]string{ManifestName, "setup.sh"}, s.Shell); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"bash"}, s.Tools); diff != "" {
		t.Error(diff)
	}
	rev := &v1alpha1.SkillRevision{Status: s}
	rev.Status.Tools = append(rev.Status.Tools, "fetch")
	review := ReviewPolicy(rev, &v1alpha1.SkillPolicy{
		Tools: []v1alpha1.ToolName{"fetch"}, Dependencies: &v1alpha1.SkillDependencies{Pip: []string{"Requests==2.1"}, NPM: []string{"@scope/x@1.0.0"}},
	})
	if diff := cmp.Diff([]string{"bash"}, review.MissingTools); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"apt:jq", "npm:left-pad"}, review.MissingPackages); diff != "" {
		t.Error(diff)
	}
}
