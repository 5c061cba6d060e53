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
	// fd is that of File: to ask for it changes the mode of the file, which two must not do at once.
	fd int
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
	return &terminal{File: file, keys: keys, fd: int(file.Fd())}
}

// echoes reports whether the terminal shows what is typed.
func (x *terminal) echoes() bool {
	state, err := unix.IoctlGetTermios(x.fd, unix.TCGETS)
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
	if strings.Contains(p.all.String(), "(it is not shown; one of several lines comes by --from-file): ") && p.do != nil {
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

// types has a person type as soon as the terminal hides it, and returns the exit code and the messages.
func (r *rig) types(x *terminal, keys ...string) (int, string) {
	errs := &prompted{do: func() {
		go func() {
			x.hides()
			for _, k := range keys {
				_, _ = x.keys.WriteString(k)
			}
		}()
	}}
	code := verb.Run(r.t.Context(), r.at(x, errs), setWeather)
	return code, errs.all.String()
}

// The shell would carry out the other lines, and keep them in its history.
func TestAPasteOfSeveralLinesIsRefusedWhole(t *testing.T) {
	t.Parallel()
	x, r := newTerminal(t), newRig(t, interceptor.Funcs{})
	code, errs := r.types(x, value+"\r"+"second line\r", "third "+strings.Repeat("x", 3000)+"\r")
	if code != 1 || !strings.Contains(errs, "more came than one line") || r.there("weather") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	left, err := unix.IoctlGetInt(int(x.Fd()), unix.TIOCINQ)
	if err != nil || left != 0 || !x.echoes() {
		t.Errorf("%d bytes are left for the shell (%v), echoes %t", left, err, x.echoes())
	}
}

func TestALineIsTypedAndCorrected(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		keys, want string
		code       int
	}{
		"a line that the kernel would cut": {strings.Repeat("0123456789", 600) + "\r", strings.Repeat("0123456789", 600), 0},
		"the line breaks of Windows":       {value + "\r\n", value, 0},
		"corrected":                        {"wrong\x15" + value + "\u00e4x\x7f\x7f\r", value, 0},
		"a stop and a quit are no part":    {"\x1a" + value + "\x1c\r", value, 0},
		"the end after it":                 {value + "\x04", value, 0},
		"an interrupt":                     {value + "\x03", "", 1},
		"the end before it":                {"\x04", "", 1},
		"an escape sequence":               {"\x1b[200~" + value + "\r", "", 1},
		"too long":                         {strings.Repeat("x", 100<<10) + "\r", "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x, r := newTerminal(t), newRig(t, interceptor.Funcs{})
			code, errs := r.types(x, tt.keys)
			if code != tt.code || r.there("weather") != (tt.code == 0) || !x.echoes() {
				t.Fatalf("exit code %d, echoes %t: %s", code, x.echoes(), errs)
			}
			if tt.code == 0 && string(r.secret("weather").Data["value"]) != tt.want {
				t.Errorf("the value is one of %d bytes, want %d", len(r.secret("weather").Data["value"]), len(tt.want))
			}
		})
	}
}

// A shell makes a terminal show what is typed while the program is stopped.
func TestAContinuedProgramHidesTheValueAgain(t *testing.T) {
	t.Parallel()
	x, r := newTerminal(t), newRig(t, interceptor.Funcs{})
	before, err := unix.IoctlGetTermios(x.fd, unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	hidden := make(chan bool, 1)
	errs := &prompted{do: func() {
		go func() {
			x.hides()
			_ = unix.IoctlSetTermios(int(x.Fd()), unix.TCSETS, before)
			hidden <- x.hides()
			_, _ = x.keys.WriteString(value + "\r")
		}()
	}}
	if code := verb.Run(t.Context(), r.at(x, errs), setWeather); code != 0 || !<-hidden {
		t.Errorf("exit code %d: %s", code, &errs.all)
	}
}

// Not parallel: the signals are those of the whole process.
func TestASignalLeavesTheTerminalAsItWas(t *testing.T) {
	for _, s := range []unix.Signal{unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT} {
		x, r := newTerminal(t), newRig(t, interceptor.Funcs{})
		errs := &prompted{do: func() {
			go func() {
				x.hides()
				_ = unix.Kill(os.Getpid(), s)
			}()
		}}
		if code := verb.Run(t.Context(), r.at(x, errs), setWeather); code != 1 || !strings.Contains(errs.all.String(), "no value was given") || !x.echoes() {
			t.Errorf("%s: exit code %d, echoes %t: %s", s, code, x.echoes(), &errs.all)
		}
	}
}
