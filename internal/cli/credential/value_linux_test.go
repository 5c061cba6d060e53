// SPDX-License-Identifier: Apache-2.0

package credential_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	cli "motorcortex.dev/motorcortex/internal/cli/credential"
	"motorcortex.dev/motorcortex/internal/cli/verb"
)

// terminal is one with a test at its keys.
type terminal struct {
	*os.File
	keys *os.File
}

func newTerminal(t *testing.T) *terminal {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("there are no terminals here:", err)
	}
	t.Cleanup(func() { keys.Close() })
	number, err := unix.IoctlGetInt(int(keys.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(keys.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Skip("there are no terminals here:", err)
	}
	file, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("there are no terminals here:", err)
	}
	t.Cleanup(func() { file.Close() })
	return &terminal{File: file, keys: keys}
}

// echoes reports whether the terminal shows what is typed.
func (x *terminal) echoes() bool {
	state, err := unix.IoctlGetTermios(int(x.Fd()), unix.TCGETS)
	return err != nil || state.Lflag&unix.ECHO != 0
}

// hides waits until the terminal does not show what is typed, and reports whether it came to that.
func (x *terminal) hides() bool {
	return wait.PollUntilContextTimeout(context.Background(), time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) { return !x.echoes(), nil }) == nil
}

// prompted is a writer that does something as soon as a person is asked.
type prompted struct {
	do  func()
	all strings.Builder
}

func (p *prompted) Write(b []byte) (int, error) {
	n, err := p.all.Write(b)
	if strings.Contains(p.all.String(), "(it is not shown): ") && p.do != nil {
		p.do()
		p.do = nil
	}
	return n, err
}

// at is a program at a terminal, which asks there.
func (r *rig) at(x *terminal, errs *prompted) *cobra.Command {
	c := cli.Command{
		Streams: verb.Streams{In: x.File, Out: errs, Err: errs, Terminal: true}, Connect: func() (client.WithWatch, string, error) { return r.WithWatch, "ns", nil },
	}
	return verb.Program(c.Streams, "kubectl-motor", "kubectl motor", "Test.", cli.New(c))
}

var setWeather = []string{"credential", "set", "weather"}

func TestATerminalDoesNotShowTheValue(t *testing.T) {
	t.Parallel()
	x := newTerminal(t)
	r := newRig(t, interceptor.Funcs{})
	hidden := make(chan bool, 1)
	errs := &prompted{do: func() {
		go func() {
			// The person types when the terminal hides what is typed, and not before.
			hidden <- x.hides()
			_, _ = x.keys.WriteString(value + "\n")
		}()
	}}
	if code := verb.Run(t.Context(), r.at(x, errs), setWeather); code != 0 || !<-hidden {
		t.Fatalf("exit code %d: %s", code, &errs.all)
	}
	if got := r.secret("weather").Data["value"]; string(got) != value {
		t.Errorf("the value is one of %d bytes", len(got))
	}
	if !x.echoes() || strings.Contains(errs.all.String(), value) {
		t.Error("the terminal hides what is typed from now on, or shows the value")
	}
}

func TestAnInterruptLeavesTheTerminalAsItWas(t *testing.T) {
	t.Parallel()
	x := newTerminal(t)
	r := newRig(t, interceptor.Funcs{})
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	errs := &prompted{do: func() {
		go func() {
			x.hides()
			cancel(errors.New("interrupted"))
		}()
	}}
	if code := verb.Run(ctx, r.at(x, errs), setWeather); code != 1 || !strings.Contains(errs.all.String(), "no value was given: interrupted") {
		t.Errorf("exit code %d: %s", code, &errs.all)
	}
	if !x.echoes() {
		t.Error("the terminal hides what is typed from now on")
	}
	// The reader of this program goes with it, and that of the test with this line.
	_, _ = x.keys.WriteString("\n")
}
