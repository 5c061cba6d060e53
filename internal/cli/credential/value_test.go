// SPDX-License-Identifier: Apache-2.0

package credential_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func TestTheValueComesFromAFile(t *testing.T) {
	t.Parallel()
	r := newRig(t, interceptor.Funcs{})
	file := filepath.Join(t.TempDir(), "key.txt")
	if err := os.WriteFile(file, []byte(value+"\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.want(0, []string{"set", "a", "--from-file", file}, "secret/a created")
	r.in = strings.NewReader(value)
	r.want(0, []string{"set", "b", "--from-file", "-"}, "secret/b created")
	for _, name := range []string{"a", "b"} {
		if got := r.secret(name).Data["value"]; string(got) != value {
			t.Errorf("%s has another value of %d bytes", name, len(got))
		}
	}
}
