// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// pretend makes a program that does what the script says in place of kubectl.
func pretend(t *testing.T, script string) Kubectl {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubectl")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return Kubectl{Program: path, Namespace: "ns"}
}

func TestKubectlIsCalled(t *testing.T) {
	t.Parallel()
	k := pretend(t, `case "$*" in
"-n ns get motorrun a -o json") echo '{"x":1}' ;;
"-n ns exec p -c c -i -- cat") cat ;;
"-n ns exec p -c c -- false") echo out; echo why >&2; exit 3 ;;
*) echo 'Error from server (NotFound): motorruns "b" not found' >&2; exit 1 ;;
esac`)
	var got struct{ X int }
	if err := k.Get(t.Context(), "motorrun", "a", &got); err != nil || got.X != 1 {
		t.Errorf("get: %v %v", got, err)
	}
	if err := k.Get(t.Context(), "motorrun", "b", &got); !errors.Is(err, ErrNotFound) {
		t.Errorf("one that is not there: %v", err)
	}
	if out, err := k.Exec(t.Context(), strings.NewReader("in"), "p", "c", "cat"); err != nil || string(out) != "in" {
		t.Errorf("exec: %q %v", out, err)
	}
	var exit *exec.ExitError
	out, err := k.Exec(t.Context(), nil, "p", "c", "false")
	if !errors.As(err, &exit) || exit.ExitCode() != 3 || string(out) != "out\n" || !strings.Contains(err.Error(), "why") {
		t.Errorf("a command that fails: %q %v", out, err)
	}
}

func TestOutputIsBounded(t *testing.T) {
	t.Parallel()
	l := &limited{most: 3}
	for range 2 {
		if n, err := l.Write([]byte("ab")); n != 2 || err != nil {
			t.Errorf("%d %v", n, err)
		}
	}
	if l.String() != "aba" || !l.over {
		t.Errorf("%q %t", l.String(), l.over)
	}
}
