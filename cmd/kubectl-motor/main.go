// SPDX-License-Identifier: Apache-2.0

// Command kubectl-motor is a plugin of kubectl: with it on the PATH, `kubectl motor` carries out its verbs.
package main

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"golang.org/x/term"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"motorcortex.dev/motorcortex/internal/cli/plugin"
	"motorcortex.dev/motorcortex/internal/cli/verb"
)

func main() {
	// Without a logger, the client complains of that after a while, on the terminal of a person who follows a run.
	log.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	// A second signal ends the program, whatever it waits for.
	context.AfterFunc(ctx, stop)
	streams := verb.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Terminal: isTerminal(os.Stdin) && isTerminal(os.Stderr), Screen: isTerminal(os.Stdout)}
	code := verb.Run(ctx, plugin.New(streams), arguments(os.Args))
	stop()
	os.Exit(code)
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// arguments are those of the program. kubectl completes the words after `kubectl motor` by a program kubectl_complete-motor, which can be a
// link to this one.
func arguments(args []string) []string {
	if name := strings.TrimSuffix(filepath.Base(args[0]), ".exe"); name == "kubectl_complete-motor" {
		return append([]string{cobra.ShellCompRequestCmd}, args[1:]...)
	}
	return args[1:]
}
