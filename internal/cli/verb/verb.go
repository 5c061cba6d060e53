// SPDX-License-Identifier: Apache-2.0

// Package verb runs the verbs of `kubectl motor NOUN`: all of them read arguments, report errors and end in the same way.
package verb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"
)

// Exit codes.
const (
	// ExitOK: it is done, or the answer is yes.
	ExitOK = 0
	// ExitNo: the answer is no. Chains that do not hold and files that differ are such answers.
	ExitNo = 1
	// ExitFailed: it is not done, because of the arguments, or because something could not be read or written.
	ExitFailed = 2
)

// ErrNo ends a verb whose answer is no. The verb has printed the details.
var ErrNo = errors.New("the answer is no")

// usageError is about the arguments, which are shown with it.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// Misused marks an error as one of the arguments.
func Misused(err error) error { return usageError{err} }

// helpWanted ends a verb of which only the flags are wanted.
type helpWanted struct{ flags string }

func (helpWanted) Error() string { return "help is wanted" }

// Noun is a group of verbs.
type Noun struct {
	Out, Err io.Writer
	// Usage describes the verbs.
	Usage string
	Verbs map[string]func(ctx context.Context, args []string) error
}

// Run runs the verb after the noun and returns the exit code.
func (n Noun) Run(ctx context.Context, args []string) int {
	if len(args) == 0 {
		fmt.Fprint(n.Err, n.Usage)
		return ExitFailed
	}
	switch args[0] {
	case "help", "-h", "--help":
		fmt.Fprint(n.Out, n.Usage)
		return ExitOK
	}
	verb, ok := n.Verbs[args[0]]
	if !ok {
		return n.end(Misused(fmt.Errorf("there is no verb %q", args[0])))
	}
	return n.end(verb(ctx, args[1:]))
}

// end reports how a verb ended and returns the exit code.
func (n Noun) end(err error) int {
	help, isHelp := errors.AsType[helpWanted](err)
	switch {
	case err == nil:
		return ExitOK
	case errors.Is(err, ErrNo):
		return ExitNo
	case isHelp:
		fmt.Fprintf(n.Out, "%s\nFlags:\n%s", n.Usage, help.flags)
		return ExitOK
	}
	fmt.Fprintf(n.Err, "error: %v\n", err)
	if _, misused := errors.AsType[usageError](err); misused {
		fmt.Fprintf(n.Err, "\n%s", n.Usage)
	}
	return ExitFailed
}

// Parse reads the flags, at any position among the arguments. Arguments have names, for the error about a missing one; those whose name
// ends in "?" are optional.
func Parse(fs *pflag.FlagSet, args []string, arguments ...string) error {
	fs.Usage = func() {}
	fs.SetOutput(io.Discard)
	if err := fs.Parse(args); errors.Is(err, pflag.ErrHelp) {
		return helpWanted{fs.FlagUsages()}
	} else if err != nil {
		return Misused(err)
	}
	for i, argument := range arguments {
		if name, optional := strings.CutSuffix(argument, "?"); !optional && fs.NArg() <= i {
			return Misused(fmt.Errorf("%s is missing", name))
		}
	}
	if fs.NArg() > len(arguments) {
		return Misused(fmt.Errorf("too many arguments: %s", strings.Join(fs.Args()[len(arguments):], " ")))
	}
	return nil
}
