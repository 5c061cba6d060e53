// SPDX-License-Identifier: Apache-2.0

package credential

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"syscall"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"motorcortex.dev/motorcortex/internal/cli/verb"
	"motorcortex.dev/motorcortex/internal/credential"
)

// maxRead is how much is read of what may be a value: enough to see that it is too long.
const maxRead = credential.MaxLength + 3

// read reads a value: from a file, from a terminal without showing it, or from standard input. No error has the value in it.
func (c Command) read(ctx context.Context, file, name string) ([]byte, error) {
	if file != "" && file != "-" {
		value, err := readFile(file)
		if path, ok := errors.AsType[*fs.PathError](err); ok {
			// A person may have given the value in place of the file: it must not be in an error.
			err = path.Err
		}
		if err != nil {
			return nil, fmt.Errorf("read the file of --from-file: %w", err)
		}
		return value, nil
	}
	if terminal, ok := c.In.(*os.File); ok && term.IsTerminal(int(terminal.Fd())) {
		return c.ask(ctx, terminal, name)
	}
	if c.In == nil {
		return nil, verb.Misusedf("there is no value: give it by standard input, or with --from-file")
	}
	value, err := io.ReadAll(io.LimitReader(c.In, maxRead))
	if err != nil {
		return nil, fmt.Errorf("read the value: %w", err)
	}
	return value, nil
}

func readFile(file string) ([]byte, error) {
	in, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return io.ReadAll(io.LimitReader(in, maxRead))
}

const (
	// modeInterval is how often the terminal is told again not to show what is typed: a shell resets it when the program was stopped.
	modeInterval = 100 * time.Millisecond
	// restTime is how long after a line more of a paste can come. What is not read by then, the shell would carry out.
	restTime = 300 * time.Millisecond
)

// ask has a person type the value. However it ends, the terminal shows again what is typed.
func (c Command) ask(ctx context.Context, terminal *os.File, name string) ([]byte, error) {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer stop()
	fd := int(terminal.Fd())
	// Without the line discipline of the kernel, which cuts lines after 4095 bytes and says nothing.
	before, err := term.MakeRaw(fd)
	if err != nil {
		return nil, fmt.Errorf("read the value: %w", err)
	}
	fmt.Fprintf(c.Err, "Value of %s (it is not shown; one of several lines comes by --from-file): ", name)
	value, err := typedAt(ctx, terminal, func() error { _, err := term.MakeRaw(fd); return err })
	err = errors.Join(err, term.Restore(fd, before))
	fmt.Fprintln(c.Err)
	return value, err
}

// typedAt reads a line, and all that comes along with it. It calls hide from time to time.
func typedAt(ctx context.Context, terminal io.Reader, hide func() error) ([]byte, error) {
	read := make(chan []byte)
	failed := make(chan error, 1)
	ended := make(chan struct{})
	defer close(ended)
	// A read of a terminal cannot be called off: the goroutine ends with the next key, or with the program, which ends with this verb.
	go func() {
		for {
			buffer := make([]byte, 4096)
			n, err := terminal.Read(buffer)
			select {
			case read <- buffer[:n]:
			case <-ended:
				return
			}
			if err != nil {
				failed <- err
				return
			}
		}
	}()
	again := time.NewTicker(modeInterval)
	defer again.Stop()
	var l line
	var rest <-chan time.Time
	for {
		select {
		case part := <-read:
			if err := l.add(part); err != nil {
				return nil, err
			}
			if l.whole {
				rest = time.After(restTime)
			}
		case err := <-failed:
			return nil, fmt.Errorf("read the value: %w", err)
		case <-again.C:
			if err := hide(); err != nil {
				return nil, fmt.Errorf("hide the value: %w", err)
			}
		case <-rest:
			if l.more {
				return nil, errors.New("more came than one line, and nothing was changed: a value of several lines comes by --from-file")
			}
			return l.value, nil
		case <-ctx.Done():
			return nil, fmt.Errorf("no value was given: %w", context.Cause(ctx))
		}
	}
}

// Keys that a terminal leaves to the program.
const (
	keyInterrupt, keyEnd, keyBackspace, keyErase = 0x03, 0x04, 0x08, 0x15
	keySuspend, keyQuit, keyDelete               = 0x1a, 0x1c, 0x7f
)

// line is a line as a person types it.
type line struct {
	value []byte
	// whole is true after the end of the line, and more if something else than line breaks came then.
	whole, more bool
}

func (l *line) add(keys []byte) error {
	for _, key := range keys {
		switch {
		case l.whole:
			l.more = l.more || key != '\r' && key != '\n'
		case key == keyInterrupt, key == keyEnd && len(l.value) == 0:
			return errors.New("no value was given: nothing was changed")
		case key == '\r', key == '\n', key == keyEnd:
			l.whole = true
		case key == keyBackspace, key == keyDelete:
			_, n := utf8.DecodeLastRune(l.value)
			l.value = l.value[:len(l.value)-n]
		case key == keyErase:
			l.value = l.value[:0]
		case key == keySuspend, key == keyQuit:
			// A program that stops here would leave a terminal that shows nothing.
		case len(l.value) < maxRead:
			l.value = append(l.value, key)
		}
	}
	return nil
}
