// SPDX-License-Identifier: Apache-2.0

package credential

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

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

// ask has a person type the value. If the context ends meanwhile, the terminal shows again what is typed.
func (c Command) ask(ctx context.Context, terminal *os.File, name string) ([]byte, error) {
	fd := int(terminal.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return nil, fmt.Errorf("read the value: %w", err)
	}
	fmt.Fprintf(c.Err, "Value of %s (it is not shown): ", name)
	type answer struct {
		value []byte
		err   error
	}
	answers := make(chan answer, 1)
	// The program ends with this verb, and the goroutine with it.
	go func() {
		value, err := term.ReadPassword(fd)
		answers <- answer{value, err}
	}()
	select {
	case a := <-answers:
		fmt.Fprintln(c.Err)
		if a.err != nil {
			return nil, fmt.Errorf("read the value: %w", a.err)
		}
		return a.value, nil
	case <-ctx.Done():
		fmt.Fprintln(c.Err)
		return nil, errors.Join(fmt.Errorf("no value was given: %w", context.Cause(ctx)), term.Restore(fd, before))
	}
}
