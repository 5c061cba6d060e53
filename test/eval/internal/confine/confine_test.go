// SPDX-License-Identifier: Apache-2.0

package confine

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestACommandHasNoNetworkAndNoKeys(t *testing.T) {
	t.Setenv("EVAL_API_KEY", "a-key")
	out, err := Run(t.Context(), t.TempDir(), time.Minute, "sh", "-c", "env; ls /sys/class/net 2>/dev/null; cat /proc/net/route")
	if err != nil {
		t.Fatal(err, out)
	}
	if strings.Contains(out, "a-key") {
		t.Error("a command sees the model's key")
	}
	if strings.Contains(out, "eth0\t") {
		t.Errorf("a command has a route:\n%s", out)
	}
}

func TestACommandEndsWithAllThatItStarted(t *testing.T) {
	t.Parallel()
	began := time.Now()
	_, err := Run(t.Context(), t.TempDir(), time.Second, "sh", "-c", "sleep 600 & sleep 600")
	if !errors.Is(err, ErrTimeout) || time.Since(began) > 30*time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}

func TestTheOutputHasABound(t *testing.T) {
	t.Parallel()
	out, err := Run(t.Context(), t.TempDir(), time.Minute, "sh", "-c", "echo first; head -c 3000000 /dev/zero | tr '\\0' x; echo last; exit 3")
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("the end is %v", err)
	}
	if len(out) > MaxOutput+100 || !strings.HasPrefix(out, "first\n") || !strings.HasSuffix(out, "last\n") || !strings.Contains(out, "bytes left out") {
		t.Errorf("%d bytes: %.20s … %s", len(out), out, out[len(out)-20:])
	}
}

func TestWhoIsNotRootGetsUsersToo(t *testing.T) {
	t.Parallel()
	if a := alone(1000, 1000); len(a.UidMappings) != 1 || a.UidMappings[0].HostID != 1000 {
		t.Errorf("%+v", a)
	}
	if a := alone(0, 0); len(a.UidMappings) != 0 {
		t.Errorf("%+v", a)
	}
}
