// SPDX-License-Identifier: Apache-2.0

package motorcortex

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

var requirement = regexp.MustCompile(`(?m)^(?:require )?\s*(\S+\.\S+/\S+) (v\S+)( // indirect)?$`)

// required returns the versions of the modules that a go.mod requires directly.
func required(t *testing.T, file string) map[string]string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, m := range requirement.FindAllStringSubmatch(string(content), -1) {
		if m[3] == "" {
			found[m[1]] = m[2]
		}
	}
	return found
}

// The clients are for programs that have nothing else of the operator.
func TestTheClientsRequireTheAPIAndKubernetes(t *testing.T) {
	t.Parallel()
	for module := range required(t, "pkg/client/go.mod") {
		if module != "motorcortex.dev/motorcortex/api" && !strings.HasPrefix(module, "k8s.io/") && !strings.HasPrefix(module, "sigs.k8s.io/structured-merge-diff/") {
			t.Errorf("pkg/client/go.mod requires %s", module)
		}
	}
}

// Programs import the API for its types. Each module that it requires becomes theirs.
func TestTheAPIRequiresApimachineryAlone(t *testing.T) {
	t.Parallel()
	for module := range required(t, "api/go.mod") {
		if module != "k8s.io/apimachinery" {
			t.Errorf("api/go.mod requires %s", module)
		}
	}
}

// Programs import these modules without the replacements of this repository, so the version that one requires of another must be that of the
// next release. The versions of Kubernetes are those that the operator is tested with.
func TestModulesRequireTheSameVersions(t *testing.T) {
	t.Parallel()
	operator := required(t, "go.mod")
	own := "v" + strings.TrimSuffix(Version(), "-dev")
	for _, file := range []string{"go.mod", "api/go.mod", "pkg/client/go.mod"} {
		for module, version := range required(t, file) {
			if strings.HasPrefix(module, "motorcortex.dev/") && version != own {
				t.Errorf("%s requires %s %s, and VERSION asks for %s", file, module, version, own)
			}
			if want := operator[module]; want != "" && want != version {
				t.Errorf("%s requires %s %s, and go.mod %s", file, module, version, want)
			}
		}
	}
	for _, module := range []string{"api", "pkg/client"} {
		if operator["motorcortex.dev/motorcortex/"+module] == "" {
			t.Errorf("go.mod does not require %s", module)
		}
	}
}
