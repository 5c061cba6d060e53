// SPDX-License-Identifier: Apache-2.0

package reply_test

import (
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/reply"
)

func TestAFileWithASecretStaysWithThePerson(t *testing.T) {
	t.Parallel()
	const key = "AKIA" + "YRWSSQ3BPTB4DX7Z"
	if f, err := reply.File("a.csv", []byte("name;1\n")); err != nil || *f.Content != "name;1\n" {
		t.Errorf("%+v, %v", f, err)
	}
	if _, err := reply.File("a.env", []byte("\nKEY="+key+"\n")); err == nil || !strings.Contains(err.Error(), "line 2") || strings.Contains(err.Error(), key) {
		t.Errorf("%v", err)
	}
	if _, err := reply.File(".env", nil); err == nil {
		t.Error("a name that the API refuses is taken")
	}
}

func TestHere(t *testing.T) {
	t.Parallel()
	if got := reply.Here([]v1alpha1.ResponseFile{{Path: "a.csv"}, {Path: "b/c"}}); got != "Here: a.csv, b/c" {
		t.Errorf("%q", got)
	}
}
