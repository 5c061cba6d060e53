// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"motorcortex.dev/motorcortex/test/eval/internal/cluster"
	"motorcortex.dev/motorcortex/test/eval/internal/endpoint"
	"motorcortex.dev/motorcortex/test/eval/internal/judge"
	"motorcortex.dev/motorcortex/test/eval/internal/report"
	"motorcortex.dev/motorcortex/test/eval/internal/runner"
	"motorcortex.dev/motorcortex/test/eval/internal/task"
)

// options are the flags of run and report.
type options struct {
	dir, out, tasks, sides, listen, advertise, kubectl, namespace, image, player string
	parallel                                                                     int
	within                                                                       time.Duration
	prices                                                                       report.Prices
}

func parse(name string, args []string, out io.Writer) (options, error) {
	var o options
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(out)
	fs.StringVar(&o.dir, "dir", "tasks", "the folder of the tasks")
	fs.StringVar(&o.out, "out", "out", "the folder of the results; tasks with a result are not carried out again")
	fs.StringVar(&o.tasks, "tasks", "", "names of tasks or kinds, separated by commas; all if empty")
	fs.StringVar(&o.sides, "sides", "motor,bare", "what carries them out")
	fs.StringVar(&o.listen, "listen", "127.0.0.1:18090", "the address of the endpoint on this machine")
	fs.StringVar(&o.advertise, "advertise", "", "the endpoint's host:port as the cluster reaches it; that of -listen if empty")
	fs.StringVar(&o.kubectl, "kubectl", "kubectl", "the program")
	fs.StringVar(&o.namespace, "namespace", "motorcortex-eval", "the namespace, which is made and removed")
	fs.StringVar(&o.image, "image", "", "the sandbox image for the bare loop's Pods; if empty it runs on this machine")
	fs.StringVar(&o.player, "player", "", "which model it is, or who plays it, for the table")
	fs.IntVar(&o.parallel, "parallel", 1, "how many tasks are carried out side by side, 1 to 16")
	fs.DurationVar(&o.within, "within", 6*time.Hour, "when the evaluation ends at the latest; it can be gone on with")
	fs.Float64Var(&o.prices.In, "price-in", 0, "price of a million prompt tokens")
	fs.Float64Var(&o.prices.Out, "price-out", 0, "price of a million completion tokens")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if fs.NArg() > 0 {
		return o, fmt.Errorf("%s takes flags only, and was given %q", name, fs.Arg(0))
	}
	if o.parallel < 1 || o.parallel > 16 {
		return o, fmt.Errorf("-parallel is %d: it must be 1 to 16", o.parallel)
	}
	return o, nil
}

// chosen returns the tasks that the flag names by their own names or by their kinds.
func (o options) chosen() ([]*task.Task, error) {
	all, err := task.LoadAll(o.dir)
	if err != nil || o.tasks == "" {
		return all, err
	}
	var some []*task.Task
	for name := range strings.SplitSeq(o.tasks, ",") {
		n := len(some)
		for _, t := range all {
			if (t.Name == name || string(t.Kind) == name) && !slices.Contains(some, t) {
				some = append(some, t)
			}
		}
		if len(some) == n {
			return nil, fmt.Errorf("-tasks: %q names no task and no kind that was not named already", name)
		}
	}
	return some, nil
}

func (o options) chosenSides() ([]report.Side, error) {
	var sides []report.Side
	for name := range strings.SplitSeq(o.sides, ",") {
		if !slices.Contains(report.Sides, report.Side(name)) {
			return nil, fmt.Errorf("-sides: %q is none of %v", name, report.Sides)
		}
		sides = append(sides, report.Side(name))
	}
	return sides, nil
}

// recorder is the endpoint that the environment asks for. A key comes from a file or a variable, and never from the command line,
// where every user of the machine could read it.
func (o options) recorder(getenv func(string) string) (r *endpoint.Recorder, played bool, err error) {
	base := getenv("EVAL_BASE_URL")
	if base == "" {
		return endpoint.NewStandin(filepath.Join(o.out, "standin"), endpoint.Wait), true, nil
	}
	key := getenv("EVAL_API_KEY")
	if file := getenv("EVAL_API_KEY_FILE"); file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, false, fmt.Errorf("EVAL_API_KEY_FILE: %w", err)
		}
		key = strings.TrimSpace(string(text))
	}
	r, err = endpoint.NewUpstream(base, getenv("EVAL_MODEL"), key)
	return r, false, err
}

func list(_ context.Context, args []string, out io.Writer) error {
	o, err := parse("list", args, out)
	if err != nil {
		return err
	}
	tasks, err := o.chosen()
	for _, t := range tasks {
		fmt.Fprintf(out, "%-26s %-7s %s\n", t.Name, t.Kind, t.Title)
	}
	return err
}

func evaluate(ctx context.Context, args []string, out io.Writer) error {
	o, err := parse("run", args, out)
	if err != nil {
		return err
	}
	tasks, err := o.chosen()
	if err != nil {
		return err
	}
	sides, err := o.chosenSides()
	if err != nil {
		return err
	}
	recorder, played, err := o.recorder(os.Getenv)
	if err != nil {
		return err
	}
	recorder.Token = rand.Text()
	ctx, cancel := context.WithTimeout(ctx, o.within)
	defer cancel()
	stop, err := listen(ctx, o.listen, recorder)
	if err != nil {
		return err
	}
	defer stop()
	if o.advertise == "" {
		o.advertise = o.listen
	}
	if played {
		fmt.Fprintf(out, "readers play the model: eval next %s\n", filepath.Join(o.out, "standin", "MODEL"))
	}
	ran := runner.Config{
		Kubectl:  cluster.Kubectl{Program: o.kubectl, Namespace: o.namespace},
		Recorder: recorder, URL: "http://" + o.advertise + "/v1", LocalURL: "http://" + o.listen + "/v1",
		Out: o.out, Tasks: tasks, Sides: sides, Parallel: o.parallel, Played: played, Image: o.image, Log: out,
	}.Run(ctx)
	return errors.Join(ran, writeTable(o, out))
}

// listen serves the endpoint until stop is called.
func listen(ctx context.Context, address string, handler http.Handler) (stop func(), err error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("serve the endpoint: %w", err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l)
	}()
	return func() { _ = server.Close(); <-done }, nil
}

func tabulate(_ context.Context, args []string, out io.Writer) error {
	o, err := parse("report", args, out)
	if err != nil {
		return err
	}
	return writeTable(o, out)
}

// writeTable writes table.md and table.json into the folder of the results, and the first to out.
func writeTable(o options, out io.Writer) error {
	tasks, err := task.LoadAll(o.dir)
	if err != nil {
		return err
	}
	rows, err := runner.Rows(o.out, tasks)
	if err != nil {
		return err
	}
	player := o.player
	if player == "" {
		if player = os.Getenv("EVAL_MODEL"); player == "" {
			player = "played by a reader"
		}
	}
	summary := report.Sum(player, rows, o.prices)
	text, err := json.MarshalIndent(summary, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(o.out, "table.json"), append(text, '\n'), 0o644); err != nil {
		return err
	}
	var table strings.Builder
	if err := summary.Markdown(&table, o.prices); err != nil {
		return err
	}
	fmt.Fprint(out, table.String())
	return os.WriteFile(filepath.Join(o.out, "table.md"), []byte(table.String()), 0o644)
}

func judgeOne(ctx context.Context, args []string, out io.Writer) error {
	if len(args) != 2 {
		return errors.New("usage: eval judge TASK FOLDER: the folder of the task, and that of the outcome")
	}
	t, err := task.Load(args[0])
	if err != nil {
		return err
	}
	o, err := judge.ReadOutcome(args[1])
	if err != nil {
		return err
	}
	j, err := judge.Judge(ctx, t, o)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, j.Verdict)
	for _, p := range j.Problems {
		fmt.Fprintln(out, "*", p)
	}
	return runner.Rejudge(args[1], o, j)
}

func serve(ctx context.Context, args []string, out io.Writer) error {
	if len(args) != 2 {
		return errors.New("usage: eval serve HOST:PORT DIR")
	}
	stop, err := listen(ctx, args[0], endpoint.NewStandin(args[1], endpoint.Wait))
	if err != nil {
		return err
	}
	defer stop()
	fmt.Fprintf(out, "http://%s/v1 is answered from %s\n", args[0], args[1])
	<-ctx.Done()
	return nil
}

func next(ctx context.Context, args []string, out io.Writer) error {
	if len(args) != 1 {
		return errors.New("usage: eval next DIR/MODEL")
	}
	return endpoint.Next(ctx, args[0], endpoint.Wait, out)
}
