// SPDX-License-Identifier: Apache-2.0

// Package runner carries the tasks out: each as a MotorRun on a cluster and by the bare loop beside it, with the person played from the
// task. What came of each is in a folder of its own, so that an evaluation that was stopped goes on where it was.
package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"motorcortex.dev/motorcortex/test/eval/internal/bare"
	"motorcortex.dev/motorcortex/test/eval/internal/cluster"
	"motorcortex.dev/motorcortex/test/eval/internal/endpoint"
	"motorcortex.dev/motorcortex/test/eval/internal/judge"
	"motorcortex.dev/motorcortex/test/eval/internal/report"
	"motorcortex.dev/motorcortex/test/eval/internal/task"
	"motorcortex.dev/motorcortex/test/eval/internal/tree"
)

// readerSeconds is what a reader who plays the model may need for one answer.
const readerSeconds = 150

// Config is an evaluation.
type Config struct {
	Kubectl  cluster.Kubectl
	Recorder *endpoint.Recorder
	// URL is the endpoint as the cluster reaches it, LocalURL as this process does; both are everything before /chat/completions.
	URL, LocalURL string
	// Out is the folder of the results.
	Out      string
	Tasks    []*task.Task
	Sides    []report.Side
	Parallel int
	// Played says that readers play the model, who need more time than a model.
	Played bool
	// Image is that of the bare loop's Pods. Empty: the bare loop runs on this machine.
	Image string
	Log   io.Writer
}

// Run carries out what has no result yet, and returns when all of it was tried. An error of one task stands in its row.
func (c Config) Run(ctx context.Context) error {
	if err := c.begin(ctx); err != nil {
		return err
	}
	defer c.end(ctx)
	type work struct {
		task *task.Task
		side report.Side
	}
	queue := make(chan work)
	var workers sync.WaitGroup
	var mu sync.Mutex
	var failed []error
	for range max(c.Parallel, 1) {
		workers.Go(func() {
			for w := range queue {
				if err := c.one(ctx, w.task, w.side); err != nil {
					mu.Lock()
					failed = append(failed, err)
					mu.Unlock()
				}
			}
		})
	}
	for _, t := range c.Tasks {
		for _, side := range c.Sides {
			select {
			case queue <- work{t, side}:
			case <-ctx.Done():
			}
		}
	}
	close(queue)
	workers.Wait()
	return errors.Join(append(failed, ctx.Err())...)
}

// needsCluster reports whether anything is to be done there.
func (c Config) needsCluster() bool {
	for _, side := range c.Sides {
		if side == report.Motor || c.Image != "" {
			return true
		}
	}
	return false
}

func (c Config) begin(ctx context.Context) error {
	if !c.needsCluster() {
		return nil
	}
	all := cluster.Kubectl{Program: c.Kubectl.Program}
	if err := all.Apply(ctx, namespaceObject(c.Kubectl.Namespace)); err != nil {
		return err
	}
	for _, o := range cortexObjects(c.URL, c.Recorder.Token, c.Parallel) {
		if err := c.Kubectl.Apply(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// end removes the namespace, also when the evaluation was interrupted.
func (c Config) end(ctx context.Context) {
	if !c.needsCluster() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	all := cluster.Kubectl{Program: c.Kubectl.Program}
	if err := all.Delete(ctx, "namespace", c.Kubectl.Namespace, true); err != nil {
		fmt.Fprintf(c.Log, "the namespace %s is left: %v\n", c.Kubectl.Namespace, err)
	}
}

// one carries a task out and writes its row. An error is one of this machine; what failed on the way stands in the row.
func (c Config) one(ctx context.Context, t *task.Task, side report.Side) error {
	dir := filepath.Join(c.Out, t.Name, string(side))
	if _, done, err := readRow(dir); done || err != nil || ctx.Err() != nil {
		return err
	}
	fmt.Fprintf(c.Log, "%s %s: begins; the model is %s\n", t.Name, side, modelName(t, side))
	began := time.Now()
	row := report.Row{Task: t.Name, Kind: string(t.Kind), Side: side}
	c.Recorder.Forget(modelName(t, side))
	o, turns, err := c.carryOut(ctx, t, side)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil {
		err = o.Write(dir)
	}
	var j judge.Judgement
	if err == nil {
		j, err = judge.Judge(ctx, t, o)
	}
	if err != nil {
		row.Error = err.Error()
	} else {
		judged(&row, o, j)
	}
	used := c.Recorder.Usage(modelName(t, side))
	row.Turns, row.PromptTokens, row.CompletionTokens = turns, used.PromptTokens, used.CompletionTokens
	row.Cacheable, row.Kept, row.Seconds = used.Cacheable(), used.Kept(), time.Since(began).Seconds()
	fmt.Fprintf(c.Log, "%s %s: %s %s%s after %d turns\n", t.Name, side, row.Verdict, row.Reason, row.Error, turns)
	return writeRow(dir, row)
}

// modelName tells the requests of a run from those of others.
func modelName(t *task.Task, side report.Side) string { return t.Name + "." + string(side) }

func (c Config) seconds(t *task.Task) int {
	if c.Played {
		return t.Seconds + t.Turns*readerSeconds
	}
	return t.Seconds
}

func (c Config) carryOut(ctx context.Context, t *task.Task, side report.Side) (judge.Outcome, int, error) {
	switch {
	case side == report.Motor:
		return c.motor(ctx, t)
	case c.Image != "":
		return c.barePod(ctx, t)
	}
	return c.bareLocal(ctx, t)
}

// motor makes the run, plays its person and reads what it left.
func (c Config) motor(ctx context.Context, t *task.Task) (judge.Outcome, int, error) {
	if err := c.Kubectl.Delete(ctx, motorrun, t.Name, true); err != nil {
		return judge.Outcome{}, 0, err
	}
	for _, o := range runObjects(t, modelName(t, report.Motor), c.seconds(t)) {
		if err := c.Kubectl.Apply(ctx, o); err != nil {
			return judge.Outcome{}, 0, err
		}
	}
	// The time of a run does not count while it waits for people or for a model: there must be an end all the same.
	within := 2*time.Duration(c.seconds(t))*time.Second + endTime
	got, err := player{objects: c.Kubectl, task: t, poll: time.Second, within: within}.play(ctx)
	if err != nil {
		return judge.Outcome{}, got.run.Status.Steps, err
	}
	o, err := outcomeOf(ctx, c.Kubectl, t, got)
	return o, got.run.Status.Steps, err
}

// outcomeOf puts together what reached the person.
func outcomeOf(ctx context.Context, g getter, t *task.Task, got played) (judge.Outcome, error) {
	o := judge.Outcome{Asked: got.asked, Sandbox: got.sandbox}
	o.Claim, o.Reason = claimOf(got.run)
	o.Summary, o.Value = summaryOf(got.run)
	k, err := readKept(ctx, g, got.run)
	if err != nil {
		return o, err
	}
	files, err := delivered(ctx, t.Given(), k)
	if err != nil {
		// A diff that nobody can apply has not reached the person, and is no fault of this machine.
		o.Reason = err.Error()
	}
	o.Workspace = files
	return o, ctx.Err()
}

func (c Config) bareLocal(ctx context.Context, t *task.Task) (judge.Outcome, int, error) {
	dir, err := os.MkdirTemp("", "eval-bare-")
	if err != nil {
		return judge.Outcome{}, 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := t.Given().Write(dir); err != nil {
		return judge.Outcome{}, 0, err
	}
	got, err := c.loop(ctx, t, bare.Local{Dir: dir})
	if err != nil {
		return judge.Outcome{}, got.Turns, err
	}
	files, err := tree.Read(dir)
	return judge.Outcome{Claim: got.Claim, Reason: got.Reason, Summary: got.Summary, Workspace: files}, got.Turns, err
}

func (c Config) barePod(ctx context.Context, t *task.Task) (judge.Outcome, int, error) {
	shell := podShell{exec: c.Kubectl, pod: "bare-" + t.Name}
	if err := c.Kubectl.Delete(ctx, "pod", shell.pod, true); err != nil {
		return judge.Outcome{}, 0, err
	}
	for _, o := range podObjects(t, c.Image) {
		if err := c.Kubectl.Apply(ctx, o); err != nil {
			return judge.Outcome{}, 0, err
		}
	}
	if err := c.Kubectl.Ready(ctx, shell.pod); err != nil {
		return judge.Outcome{}, 0, err
	}
	if err := shell.fill(ctx, t.Given()); err != nil {
		return judge.Outcome{}, 0, err
	}
	got, err := c.loop(ctx, t, shell)
	if err != nil {
		return judge.Outcome{}, got.Turns, err
	}
	files, err := snapshot(ctx, c.Kubectl, shell.pod, bareContainer)
	return judge.Outcome{Claim: got.Claim, Reason: got.Reason, Summary: got.Summary, Workspace: files}, got.Turns,
		errors.Join(err, c.Kubectl.Delete(ctx, "pod", shell.pod, false))
}

func (c Config) loop(ctx context.Context, t *task.Task, shell bare.Shell) (bare.Result, error) {
	limited, cancel := context.WithTimeout(ctx, time.Duration(c.seconds(t))*time.Second)
	defer cancel()
	model := bare.Chat{URL: c.LocalURL, Model: modelName(t, report.Bare), Token: c.Recorder.Token, Pause: time.Second}
	return bare.Run(limited, model, shell, t.Instruction, t.Turns)
}
