// SPDX-License-Identifier: Apache-2.0

package attempt

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/box"
	"motorcortex.dev/motorcortex/internal/engine/harvest"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/engine/savedcredential"
	"motorcortex.dev/motorcortex/internal/engine/skills"
	"motorcortex.dev/motorcortex/internal/journal"
	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

// lookMargin is the part of the time for the last look that is reserved to record its findings.
const lookMargin = 10 * time.Second

// lastLook collects the files of the workspace when the attempt has ended, or the run is ending, and closes the last step with
// them. The end is recorded before. So a slow sandbox or a store that refuses costs files, and never the end.
// The controller retains the sandbox until the step is closed, or for runpolicy.LookTime.
func (a *Attempt) lastLook(ctx context.Context) error {
	if len(a.Env.Entries.Steps()) == 0 {
		return nil
	}
	a.Closing()
	look := &look{Attempt: a}
	closing, err := look.take(ctx)
	if err != nil {
		return err
	}
	if closing.Problem != "" {
		a.Env.Log.Warn("not everything that the run leaves behind was collected", "problem", closing.Problem)
	}
	if err := a.Env.Entries.Close(ctx, closing); err != nil {
		return err
	}
	if look.artifacts != nil {
		look.artifacts.Sweep(ctx, closing.Artifacts)
	}
	return nil
}

// look is one last look at a sandbox.
type look struct {
	*Attempt
	// artifacts is nil if nothing was collected.
	artifacts *harvest.Artifacts
}

// take collects. An error decides nothing: the look can be repeated.
func (k *look) take(ctx context.Context) (journal.Closing, error) {
	if !runpolicy.HasModel(k.Env.Run) {
		return journal.Closing{}, nil
	}
	if why := k.nothingToSee(); why != "" {
		return journal.Closing{Problem: why}, nil
	}
	bounded, cancel := context.WithTimeoutCause(ctx, k.timeLeft(), harvest.ErrTime)
	defer cancel()
	closing, err := k.collect(bounded)
	err = k.unlessOvertaken(bounded, err)
	_, final := errors.AsType[*outcome.Failure](err)
	switch {
	case err == nil:
	case ctx.Err() != nil, errors.Is(err, runenv.ErrNoLease), errors.Is(err, motorloop.ErrStale):
		return closing, err
	case final, harvest.IsOver(bounded):
		closing.Problem = joinProblems(closing.Problem, k.Env.Known.Hide(err.Error()))
	default:
		return closing, err
	}
	return closing, nil
}

// succeeded reports whether the run, or the attempt, ended well. A decision about the run takes precedence, and its last step need not agree.
func (k *look) succeeded() bool {
	if ending := k.Env.Run.Status.Ending; ending != nil {
		return runpolicy.EndsWell(ending)
	}
	return k.Env.Entries.Succeeded()
}

// timeLeft returns how long the look may take. A repeated look has the remaining time of the one before.
func (k *look) timeLeft() time.Duration {
	left := runpolicy.LookTime(k.succeeded()) - lookMargin
	if ending := k.Env.Run.Status.Ending; ending != nil {
		since := ending.DecisionTime.Time
		left -= k.Env.Observed().Shifted(since, k.Env.APINow()).Sub(since)
	}
	return max(left, time.Second)
}

// nothingToSee returns why there is no sandbox to look at, "" if there is one.
func (k *look) nothingToSee() string {
	steps := k.Env.Entries.Steps()
	st, last := &k.Env.Run.Status, &steps[len(steps)-1].Spec
	switch {
	case last.Outcome != nil && last.Outcome.Reason == outcome.ReasonSandboxLost, st.Sandbox == nil, st.Sandbox.PodIP == "":
		return "the sandbox was lost, and what it held since it was collected last"
	case !apimeta.IsStatusConditionTrue(st.Conditions, v1alpha1.ConditionSandboxReady):
		return "the sandbox did not run at the end, so what it held since it was collected last is lost"
	case k.Env.Entries.Sandbox().PodUID != st.Sandbox.PodUID:
		return "the sandbox was another one than that of the last step, whose files are lost"
	}
	return ""
}

func (k *look) collect(ctx context.Context) (closing journal.Closing, err error) {
	env := k.Env
	// Values that must not be stored must be registered before anything is read that could contain one.
	if _, _, err := k.openModel(ctx); err != nil {
		// An unavailable model does not stop the collection. A key that does not exist is in no file.
		if _, away := errors.AsType[*chat.Outage](err); !away {
			return closing, err
		}
	}
	way, err := box.ReadWayOut(ctx, env, k.Host.Box)
	if err != nil {
		return closing, err
	}
	all := env.Entries.AllSteps()
	if err := (&savedcredential.Store{Env: env}).Recall(ctx, all); err != nil {
		return closing, err
	}
	skill, err := skills.Open(ctx, env)
	if err != nil {
		return closing, err
	}
	tainted, err := tainted(ctx, env.Client, env.Run, all)
	if err != nil {
		return closing, err
	}
	sandbox, err := box.Open(env, k.Host.Box)
	if err != nil {
		return closing, err
	}
	defer sandbox.Close()
	sandbox.WayOut, sandbox.Skill = way, skill
	k.endAll(ctx, sandbox)
	kept := &harvest.Artifacts{Env: env, Client: sandbox.Client, Reachable: sandbox.Reachable, Tainted: tainted, Recorded: runpolicy.ReadJournal(env.Run, all).Artifacts}
	if closing, err = k.collectFiles(ctx, kept); err != nil {
		return closing, err
	}
	k.artifacts = kept
	// Listing the skills ends everything that runs in the sandbox, so they come last.
	collector := skills.NewCollector(env, sandbox.Client)
	if !collector.Wanted(k.succeeded()) {
		return closing, nil
	}
	limit := skills.FailedTimeout
	if k.succeeded() {
		limit = skills.Timeout
	}
	closing.Skills, err = collector.Collect(ctx, limit)
	return closing, err
}

// endAll ends the programs in the sandbox of a run that ends while it works: its calls, its background programs, its MCP servers. They have
// egress for as long as the sandbox exists, and change the files that are collected. Programs that cannot be ended end with the sandbox.
func (k *look) endAll(ctx context.Context, sandbox *box.Box) {
	if k.Env.Run.Status.Ending == nil {
		return
	}
	if _, err := sandbox.Client.Halt(ctx); err != nil && !errors.Is(err, toolclient.ErrUnsupported) {
		k.Env.Log.Warn("what runs in the sandbox of a run that ends could not be ended before the last look at it", "error", err)
	}
}

func (k *look) collectFiles(ctx context.Context, kept *harvest.Artifacts) (closing journal.Closing, err error) {
	limit := harvest.FailedTimeout
	if k.succeeded() {
		limit = harvest.Timeout
	}
	list, err := kept.Collect(ctx, limit)
	closing.Artifacts = kept.News(list)
	f, lost := errors.AsType[*outcome.Failure](err)
	switch {
	case lost:
		closing.Problem, err = "the files were not collected: "+k.Env.Known.Hide(f.Message), nil
	case errors.Is(err, harvest.ErrTime) && list == nil:
		closing.Problem, err = fmt.Sprintf("the files were not collected: the sandbox did not list them within %s", limit), nil
	case errors.Is(err, harvest.ErrTime):
		// The list names the files that were not read in time.
		err = nil
	}
	return closing, err
}

func joinProblems(all ...string) string {
	var some []string
	for _, p := range all {
		if p != "" {
			some = append(some, p)
		}
	}
	return strings.Join(some, "; ")
}
