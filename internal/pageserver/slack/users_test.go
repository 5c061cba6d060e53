// SPDX-License-Identifier: Apache-2.0

package slack

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func write(t *testing.T, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestAPersonIsWhoTheFileSays(t *testing.T) {
	t.Parallel()
	file := write(t, "users:\n- {team: T1, id: U1, username: 'oidc:dana', groups: ['oidc:sre']}\n- {team: T2, id: U1, username: will}\n")
	p, err := personOf(file, "T1", "U1")
	if err != nil || p.User != "oidc:dana" || !slices.Equal(p.Groups, []string{"oidc:sre"}) {
		t.Errorf("got %+v, %v", p, err)
	}
	if p, err := personOf(file, "T2", "U1"); err != nil || p.User != "will" {
		t.Errorf("the same id in another team is %+v, %v", p, err)
	}
	for _, who := range [][2]string{{"T1", "U2"}, {"T3", "U1"}, {"", "U1"}, {"T1", ""}, {"T1", "u1"}} {
		if p, err := personOf(file, who[0], who[1]); !errors.Is(err, errUnmapped) {
			t.Errorf("%v is %+v, %v", who, p, err)
		}
	}
}

func TestAFileWithAMistakeMapsNoOne(t *testing.T) {
	t.Parallel()
	const good = "users:\n- {team: T1, id: U1, username: dana}\n"
	for content, says := range map[string]string{
		good + "- {team: T1, id: U2, username: 'system:admin'}":                   "system:",
		good + "- {team: T1, id: U2, username: will, groups: ['system:masters']}": "system:",
		good + "- {team: T1, id: U2, username: will, groups: [' a']}":             "space",
		good + "- {team: T1, id: U2}":                                             "empty",
		good + "- {id: U2, username: will}":                                       "needs team and id",
		good + "- {team: T1, id: U1, username: will}":                             "second one",
		good + "- {team: T1, id: U2, user: will}":                                 "unknown field",
		good + strings.Repeat("#", maxUsers):                                      "over",
		"a: [":                                                                    "no list of users",
		good + "- {team: T1, id: U2, username: will, groups: [" + strings.Repeat("a,", maxGroups+1) + "]}": "groups",
	} {
		if p, err := personOf(write(t, content), "T1", "U1"); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.60q: %+v, %v", content, p, err)
		}
	}
	if _, err := personOf("/none", "T1", "U1"); err == nil || errors.Is(err, errUnmapped) {
		t.Errorf("without the file: %v", err)
	}
}
