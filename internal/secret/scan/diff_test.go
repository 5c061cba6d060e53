// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// section is the section of a diff about a new file.
func section(path string, lines ...string) string {
	s := "diff --git a/" + path + " b/" + path + "\nnew file mode 100644\n--- /dev/null\n+++ b/" + path + "\n@@ -0,0 +1,9 @@\n"
	for _, line := range lines {
		s += "+" + line + "\n"
	}
	return s
}

func TestScanDiff(t *testing.T) {
	t.Parallel()
	// It looks like a key where it stands in no lock file.
	const sum = "golang.org/x/oauth2/authkey h1:dnDm7JmhM45NNpd8FDDeLhK6FwqbOlmRMAbCdEfGhIj"
	plain := section("a.txt", "one", "two")
	for name, tt := range map[string]struct {
		diff string
		want []Finding
	}{
		"nothing":               {"", nil},
		"no secret":             {"# head\n\n" + plain + plain, nil},
		"in the second file":    {plain + section("b.txt", "x", awsKey), []Finding{{"aws-access-token", 14}}},
		"in both":               {section("a", awsKey) + section("b", awsKey), []Finding{{"aws-access-token", 6}, {"aws-access-token", 12}}},
		"in the head":           {"# " + awsKey + "\n" + plain, []Finding{{"aws-access-token", 1}}},
		"a lock file":           {section("sub/go.sum", sum), nil},
		"the same elsewhere":    {section("notes.txt", sum), []Finding{{"generic-api-key", 6}}},
		"behind a lock file":    {section("go.sum", sum) + section("notes.txt", sum), []Finding{{"generic-api-key", 12}}},
		"a name in quotes":      {`diff --git "a/\001" "b/\001"` + "\n+" + awsKey + "\n", []Finding{{"aws-access-token", 2}}},
		"two names":             {"diff --git a/go.sum b/notes.txt\n+" + sum + "\n", []Finding{{"generic-api-key", 2}}},
		"over several lines":    {section("key", strings.Split(strings.TrimSuffix(privateKey, "\n"), "\n")...), []Finding{{"private-key", 6}}},
		"a line that was there": {"diff --git a/a b/a\n " + awsKey + "\n-" + awsKey + "\n", []Finding{{"aws-access-token", 2}, {"aws-access-token", 3}}},
	} {
		if d := cmp.Diff(tt.want, InDiff(time.Time{}, []byte(tt.diff))); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	found := InDiff(time.Now().Add(-time.Second), []byte(plain))
	if len(found) != 1 || found[0].RuleID != RuleUnfinished {
		t.Errorf("without any time it finds %v", found)
	}
	if n := len(InDiff(time.Time{}, []byte(strings.Repeat(section("a", awsKey), 2*MaxFindings)))); n != MaxFindings {
		t.Errorf("of many there are %d findings", n)
	}
}

// A content is scanned as it reads without the marks of the diff, whether its lines were added, removed or stay.
func TestMarksOfADiff(t *testing.T) {
	t.Parallel()
	const diff = "@@ -1,3 +1,3 @@\n stays\n-removed\n+added\n\n+\n--\n\\ No newline at end of file"
	const want = "@@ -1,3 +1,3 @@\nstays\nremoved\nadded\n\n\n-\n\\ No newline at end of file"
	if got := string(withoutMarks([]byte(diff))); got != want {
		t.Errorf("%q", got)
	}
}

// The findings of a diff are those of its files one by one.
func TestScanDiffOfParts(t *testing.T) {
	t.Parallel()
	parts := []string{"# head\n", section("a", "x"), section("b", awsKey), section("with space", githubToken), section("c", "y")}
	whole := len(InDiff(time.Time{}, []byte(strings.Join(parts, ""))))
	single := 0
	for _, p := range parts {
		single += len(InDiff(time.Time{}, []byte(p)))
	}
	if whole != single || whole != 2 {
		t.Errorf("%d in the whole, %d in the parts", whole, single)
	}
}
