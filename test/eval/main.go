// SPDX-License-Identifier: Apache-2.0

// Command eval carries the tasks of the evaluation out and judges what became of them; see the README beside it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

const usage = `usage: eval COMMAND

  list                     the tasks
  run [FLAGS]              carries out what has no result yet, and writes the table
  report [FLAGS]           writes the table of what there is
  judge TASK FOLDER        judges an outcome folder
  serve ADDRESS DIR        only the endpoint that readers answer
  next DIR/MODEL           waits for a request and shows what is new in it

"eval COMMAND -h" has the flags. Environment: EVAL_BASE_URL, EVAL_MODEL, EVAL_API_KEY or EVAL_API_KEY_FILE; without
EVAL_BASE_URL the model is played by readers.
`

type command func(ctx context.Context, args []string, out io.Writer) error

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "eval:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	commands := map[string]command{"list": list, "run": evaluate, "report": tabulate, "judge": judgeOne, "serve": serve, "next": next}
	if len(args) == 0 || commands[args[0]] == nil {
		return errors.New(usage)
	}
	err := commands[args[0]](ctx, args[1:], out)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	return err
}
