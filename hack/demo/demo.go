// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// stallGrace is how long a run may say that it cannot go on. The operator may see the run before what it needs.
const stallGrace = 20 * time.Second

// demo is one showing.
type demo struct {
	opts  options
	c     client.WithWatch
	now   func() time.Time
	print *printer
	// typed are the lines that a person types, nil if there is nobody.
	typed <-chan string

	key   client.ObjectKey
	story story
	marks marks
	// waiting is the question that a person is to answer, nil while there is none.
	waiting   *v1alpha1.PendingInput
	questions int
	// answered are the questions that the demo answered itself.
	answered map[string]bool
	// giveUp fires when the run stalled for too long, and is nil while it does not.
	giveUp <-chan time.Time
	image  string
}

func (d *demo) run(ctx context.Context) error {
	s, err := d.prepare(ctx)
	if err != nil {
		return err
	}
	d.key = client.ObjectKeyFromObject(s.run)
	following, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	views := followRun(following, cancel, d.c, d.key)
	// The first view is that there is no run. From there on nothing is missed.
	select {
	case v := <-views:
		d.story.see(v)
	case <-following.Done():
		return context.Cause(following)
	}
	d.marks.created = d.now()
	if err := d.apply(ctx, s.run); err != nil {
		return err
	}
	d.print.linef("%-48s model: %s", "motorrun.motorcortex.dev/"+d.key.Name+" created", d.opts.model)
	if err := d.follow(following, views); err != nil {
		return d.explain(err)
	}
	cancel(nil)
	return d.conclude(ctx)
}

var (
	errEnded   = errors.New("the run has ended")
	errDeleted = errors.New("the run was deleted")
	errTimeout = errors.New("the demo was not done within its time")
	errStalled = errors.New("the run cannot go on: see its conditions above")
)

// follow prints what happens until the run has ended.
func (d *demo) follow(ctx context.Context, views <-chan view) error {
	for {
		var err error
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case v := <-views:
			err = d.tell(ctx, d.story.see(v))
		case line, open := <-d.readable():
			err = d.read(ctx, line, open)
		case <-d.giveUp:
			err = errStalled
		}
		if errors.Is(err, errEnded) {
			return d.catchUp(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// readable is what is typed while there is a question, and nothing otherwise: lines that are typed early wait.
func (d *demo) readable() <-chan string {
	if d.waiting == nil {
		return nil
	}
	return d.typed
}

// catchUp tells of the steps that the watch of the run was faster than.
func (d *demo) catchUp(ctx context.Context) error {
	var list v1alpha1.MotorStepList
	if err := d.c.List(ctx, &list, client.InNamespace(d.key.Namespace), client.MatchingLabels{v1alpha1.LabelRun: d.key.Name}); err != nil {
		return fmt.Errorf("list the steps: %w", err)
	}
	if len(list.Items) == 0 {
		return nil
	}
	return d.tell(ctx, d.story.see(view{steps: list.Items}))
}

func (d *demo) tell(ctx context.Context, events []event) error {
	for _, e := range events {
		if err := d.tellOne(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) tellOne(ctx context.Context, e event) error {
	switch e := e.(type) {
	case sandboxRuns:
		d.print.linef("sandbox ready: Pod %s", e.pod)
		d.lookAtSandbox(ctx, e.pod)
	case stepWritten:
		d.marks.step(d.now())
	case callEnded:
		d.marks.result(d.now())
		if e.call.Tool != toolapi.ToolAskUser || !e.result.OK {
			d.print.linef("%s", callLine(e.step, e.call, e.result))
		}
	case asked:
		return d.ask(ctx, e.input)
	case settled:
		d.settle(e)
	case stalledNow:
		d.print.linef("the run waits: %s: %s", e.reason, e.message)
		if d.giveUp == nil {
			d.giveUp = time.After(stallGrace)
		}
	case goesOn:
		d.giveUp = nil
	case vanished:
		return errDeleted
	case ended:
		d.marks.finished = d.now()
		return errEnded
	}
	return nil
}

// lookAtSandbox learns the image to compare with. The Pod may be gone already, so nothing depends on it.
func (d *demo) lookAtSandbox(ctx context.Context, name string) {
	var pod corev1.Pod
	if err := d.c.Get(ctx, client.ObjectKey{Namespace: d.key.Namespace, Name: name}, &pod); err == nil && len(pod.Spec.Containers) > 0 {
		d.image = pod.Spec.Containers[0].Image
	}
}

func (d *demo) ask(ctx context.Context, input *v1alpha1.PendingInput) error {
	// What led to the question stands above it.
	if err := d.catchUp(ctx); err != nil {
		return err
	}
	d.questions++
	d.marks.ask(d.now())
	d.print.linef(" ?  %s", input.Question)
	if d.typed != nil {
		d.print.rawf("%s", prompt(input))
		d.waiting = input
		return nil
	}
	answer, why, err := unattended(input, d.opts.answer, d.questions == 1)
	if err != nil {
		return err
	}
	d.print.linef("    answering: %s (%s)", answer, why)
	return d.answer(ctx, input, answer)
}

// read takes a line in that answers the question. The end of the input leaves the question to its default.
func (d *demo) read(ctx context.Context, line string, open bool) error {
	input := d.waiting
	answer := chosen(input, line)
	if !open {
		d.typed, d.waiting = nil, nil
		d.print.rawf("\n")
		var err error
		if answer, _, err = unattended(input, "", false); err != nil {
			return err
		}
	}
	if answer == "" {
		d.print.rawf("%s", prompt(input))
		return nil
	}
	d.waiting = nil
	d.print.linef("    answering: %s", answer)
	return d.answer(ctx, input, answer)
}

func (d *demo) answer(ctx context.Context, input *v1alpha1.PendingInput, answer string) error {
	if d.answered == nil {
		d.answered = map[string]bool{}
	}
	d.answered[input.ID] = true
	d.marks.answer(d.now())
	return respond(ctx, d.c, d.key, input, answer)
}

// settle notices that somebody else was faster.
func (d *demo) settle(e settled) {
	d.marks.answer(d.now())
	if d.waiting != nil && d.waiting.ID == e.id {
		d.waiting = nil
		d.print.rawf("\n")
	}
	if !d.answered[e.id] && e.answer != "" {
		d.print.linef("    answered elsewhere: %s", e.answer)
	}
}

// explain shows how the run stands when it was not followed to its end.
func (d *demo) explain(err error) error {
	if d.story.run != nil && (errors.Is(err, errStalled) || errors.Is(err, errTimeout)) {
		d.print.rawf("\n")
		d.print.block(conditionLines(d.story.run))
	}
	return err
}

// report is the report that the run left behind, or else as it was written last.
func (d *demo) report(ctx context.Context) string {
	if d.story.run.Status.Result != nil {
		for _, a := range d.story.run.Status.Result.Artifacts {
			var kept corev1.ConfigMap
			if path.Base(a.Path) == reportName && d.c.Get(ctx, client.ObjectKey{Namespace: d.key.Namespace, Name: a.ConfigMapName}, &kept) == nil {
				return kept.Data["content"]
			}
		}
	}
	return d.story.report()
}

// conclude prints the result and what else there is to know. A run that failed is an error.
func (d *demo) conclude(ctx context.Context) error {
	run := d.story.run
	if report := d.report(ctx); report != "" {
		d.print.rawf("\n")
		d.print.block(report)
		d.print.rawf("\n")
	}
	d.print.linef("%s", outcomeLine(run))
	if !isTrue(run, v1alpha1.ConditionSucceeded) {
		d.print.rawf("\n")
		d.print.block(conditionLines(run))
	}
	d.print.rawf("\n%s", lookFurther(d.key.Namespace, d.key.Name))
	if d.opts.figures {
		if err := d.measure(ctx); err != nil {
			return err
		}
	}
	if !isTrue(run, v1alpha1.ConditionSucceeded) {
		return fmt.Errorf("the run ended as %s", run.Status.Phase)
	}
	return nil
}
