// SPDX-License-Identifier: Apache-2.0

// Package verb has what all verbs of `kubectl motor` have in common: how they read arguments, report errors and end.
package verb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"motorcortex.dev/motorcortex/internal/cli/show"
)

// Exit codes.
const (
	// ExitOK: it is done, the run succeeded, or the answer is yes.
	ExitOK = 0
	// ExitFailed: it is not done, the run failed, or the answer is no. Chains that do not hold and files that differ are such answers.
	ExitFailed = 1
	// ExitWaits: the run waits for a person.
	ExitWaits = 2
	// ExitTimeout: the time of --timeout was over first, or the person who watched the run has left.
	ExitTimeout = 3
	// ExitMisused: the arguments are wrong.
	ExitMisused = 4
	// ExitUnknown: the verb asks something, and could not find it out. Without this code a script would take a cluster that cannot be reached for
	// the answer no.
	ExitUnknown = 5
)

// Errors that end a verb which has printed the details already.
var (
	// ErrNo: the answer is no, or the run failed.
	ErrNo = errors.New("the answer is no")
	// ErrWaits: the run waits for a person.
	ErrWaits = errors.New("the run waits for a person")
	// ErrRuns: the run has not ended, and who watched it has left.
	ErrRuns = errors.New("the run has not ended")
)

// ErrTimeout is within the error of a verb whose time was over.
var ErrTimeout = errors.New("the time is over")

// usageError is about the arguments. The usage is shown with it.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// Misused marks an error as one of the arguments.
func Misused(err error) error { return usageError{err} }

// Misusedf is Misused of a new error.
func Misusedf(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// unknownError is of a verb that asks something.
type unknownError struct{ error }

func (e unknownError) Unwrap() error { return e.error }

// errHelpShown ends a group without a verb: its help was printed.
var errHelpShown = Misused(errors.New("the verb is missing"))

// Streams are what a verb reads and writes: data goes to Out, everything else to Err.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// Terminal is true if a person sits at In and Err, who can be asked.
	Terminal bool
	// Screen is true if Out is a terminal, which must not be sent what it would obey.
	Screen bool
}

// Program is the command that all others belong to.
func Program(s Streams, name, shown, short string, children ...*cobra.Command) *cobra.Command {
	p := Group(name, short, children...)
	p.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: shown}
	p.SilenceErrors, p.SilenceUsage = true, true
	p.SetIn(s.In)
	p.SetOut(s.Out)
	p.SetErr(s.Err)
	p.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return Misused(ofFlag(err)) })
	// cobra looks at this later by itself, and its error would not be known for one of the arguments.
	p.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if err := cmd.ValidateFlagGroups(); err != nil {
			return Misused(err)
		}
		return nil
	}
	return p
}

// ofFlag is an error about a flag. For a value that cannot be read, pflag has the words of the function that could not.
func ofFlag(err error) error {
	invalid, isValue := errors.AsType[*pflag.InvalidValueError](err)
	cause, ofNumber := errors.AsType[*strconv.NumError](err)
	if !isValue || !ofNumber {
		return err
	}
	is := "no whole number"
	switch {
	case errors.Is(cause, strconv.ErrRange):
		is = "too large or too small a number"
	case cause.Func == "ParseBool":
		is = "neither true nor false"
	}
	return fmt.Errorf("--%s: %q is %s", invalid.GetFlag().Name, invalid.GetValue(), is)
}

// Group is a command that does nothing but have others.
func Group(use, short string, children ...*cobra.Command) *cobra.Command {
	g := &cobra.Command{Use: use, Short: short, Args: cobra.ArbitraryArgs, RunE: func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			cmd.SetOut(cmd.ErrOrStderr())
			return errors.Join(cmd.Help(), errHelpShown)
		}
		err := fmt.Errorf("there is no verb %q", args[0])
		if like := cmd.SuggestionsFor(args[0]); len(like) > 0 {
			err = fmt.Errorf("%w: is it %s?", err, strings.Join(like, " or "))
		}
		return Misused(err)
	}}
	g.SuggestionsMinimumDistance = 2
	g.AddCommand(children...)
	return g
}

// Run carries out the command that the arguments name, and returns the exit code.
func Run(ctx context.Context, program *cobra.Command, args []string) int {
	program.SetArgs(append([]string{}, args...))
	cmd, err := program.ExecuteContextC(ctx)
	out := program.ErrOrStderr()
	_, misused := errors.AsType[usageError](err)
	switch {
	case err == nil:
		return ExitOK
	case errors.Is(err, errHelpShown):
		return ExitMisused
	case errors.Is(err, ErrNo):
		return ExitFailed
	case errors.Is(err, ErrWaits):
		return ExitWaits
	case errors.Is(err, ErrRuns):
		return ExitTimeout
	}
	// Within an error can be a text of a skill, a model or a page.
	fmt.Fprintf(out, "error: %s\n", show.Text(err.Error()))
	_, unknown := errors.AsType[unknownError](err)
	switch {
	case misused:
		fmt.Fprintf(out, "\nUsage:\n  %s\n\n\"%s --help\" says more.\n", cmd.UseLine(), cmd.CommandPath())
		return ExitMisused
	case errors.Is(err, ErrTimeout):
		return ExitTimeout
	case unknown:
		return ExitUnknown
	}
	return ExitFailed
}

// Asks is for verbs whose exit code is an answer: whatever else goes wrong ends with ExitUnknown.
func Asks(run func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error { return Unknown(run(cmd, args)) }
}

// Unknown marks an error as one of a verb that could not find out what it was asked. It returns nil for nil.
func Unknown(err error) error {
	if err == nil {
		return nil
	}
	return unknownError{err}
}

// Args checks the number of arguments. They have names, for the error about a missing one; those whose name ends in "?" are optional.
func Args(names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		for i, name := range names {
			if name, optional := strings.CutSuffix(name, "?"); !optional && len(args) <= i {
				return Misusedf("%s is missing", name)
			}
		}
		if len(args) > len(names) {
			return Misusedf("too many arguments: %s", strings.Join(args[len(names):], " "))
		}
		return nil
	}
}

// Arg returns an argument, and "" for one that is not given.
func Arg(args []string, i int) string {
	if i < len(args) {
		return args[i]
	}
	return ""
}
