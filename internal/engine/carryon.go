// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/journal"
	"motorcortex.dev/motorcortex/internal/modelref"
	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

// maxPanics is how many times in a row a loop may panic. What panics that often does so because of the run.
const maxPanics = 3

// errMissing says that something which the run needs is missing and may come back.
var errMissing = errors.New("missing for now")

func isMissing(p *modelref.Problem) bool {
	return p.Reason == v1alpha1.ReasonModelSecretNotFound || p.Reason == v1alpha1.ReasonModelSecretKeyMissing
}

// carryOn carries the run's attempt on from where its journal ends, until it ends too or waits for a person; then it
// gives the id of the question. An error decides nothing: the same can be tried again.
func (e *Engine) carryOn(ctx context.Context, l *loop, run *v1alpha1.MotorRun, log *slog.Logger) (waitingFor string, err error) {
	claim := journal.Claim{Epoch: run.Status.Epoch, Worker: e.Config.Worker}
	entries, err := journal.Load(ctx, e.Client, e.Live, run, claim, e.Now)
	if f, ok := errors.AsType[*motorloop.Failure](err); ok {
		return "", entries.End(ctx, f)
	}
	if err != nil {
		return "", err
	}
	if entries.Ended() {
		return "", nil
	}
	if l.panics >= maxPanics {
		return "", entries.End(ctx, &motorloop.Failure{
			Category: motorloop.InfraFailure, Reason: motorloop.ReasonInternalError,
			Message: fmt.Sprintf("The loop of the run panicked %d times in a row, which is a fault of the manager and not of the task. "+
				"The log of the manager %s says where; please report it.", l.panics, e.Config.Worker),
		})
	}
	endpoint, err := e.Models.Resolve(ctx, run)
	if p, ok := modelref.AsProblem(err); ok {
		if isMissing(p) && l.mayComeBack(e.Now()) {
			return "", fmt.Errorf("resolve the model: %w: %w", errMissing, err)
		}
		// It was there when the run was accepted. Nobody who waits for the run would learn why it stands still.
		return "", entries.End(ctx, &motorloop.Failure{Category: motorloop.InvalidTask, Reason: p.Reason, Message: p.Message, Retryable: true})
	}
	if err != nil {
		return "", fmt.Errorf("resolve the model: %w", err)
	}
	model, err := e.NewModel(endpoint)
	if err != nil {
		return "", entries.End(ctx, &motorloop.Failure{
			Category: motorloop.ModelFailure, Reason: v1alpha1.ReasonModelNotConfigured,
			Message: fmt.Sprintf("The model's endpoint cannot be used: %v. Correct spec.models of the MotorCortex.", err),
		})
	}
	box, err := e.openSandbox(l, run, entries, log)
	if err != nil {
		return "", err
	}
	defer box.close()

	out, err := (&motorloop.Loop{
		Config:  loopConfig(run, entries),
		Model:   model,
		Tools:   box,
		Journal: entries,
		Ready:   box.ready,
		Now:     e.Now,
		Logger:  log,
	}).Run(ctx, entries.Turns(), runpolicy.Answers(run, entries.Steps()))
	if err != nil {
		return "", err
	}
	switch out.Kind {
	case motorloop.Completed:
		// Its last step says so.
	case motorloop.Failed:
		log.Info("the attempt failed", "reason", out.Failure.Reason, "category", string(out.Failure.Category))
		return "", entries.End(ctx, out.Failure)
	case motorloop.Awaiting:
		steps := entries.Steps()
		return runpolicy.QuestionID(&steps[len(steps)-1], out.Waiting.ID), nil
	}
	return "", nil
}

func loopConfig(run *v1alpha1.MotorRun, entries *journal.Log) motorloop.Config {
	cfg := motorloop.Config{
		Attempt:       entries.Attempt(),
		Task:          run.Spec.Task,
		MaxIterations: run.Spec.Limits.MaxIterations,
	}
	if run.Spec.Limits.MaxTokens != nil {
		cfg.MaxTokens = *run.Spec.Limits.MaxTokens
	}
	for _, t := range run.Spec.Tools {
		cfg.Tools = append(cfg.Tools, string(t))
	}
	for _, f := range run.Spec.Files {
		cfg.Files = append(cfg.Files, f.Path)
	}
	return cfg
}

// openSandbox makes the client of the run's sandbox. Nothing is sent yet.
func (e *Engine) openSandbox(l *loop, run *v1alpha1.MotorRun, entries *journal.Log, log *slog.Logger) (*sandboxTools, error) {
	client, err := toolclient.New(toolclient.Config{
		Address:         net.JoinHostPort(run.Status.Sandbox.PodIP, strconv.Itoa(toolapi.Port)),
		PodUID:          run.Status.Sandbox.PodUID,
		ClientCert:      e.Config.ClientCert,
		Epoch:           run.Status.Epoch,
		PinnedServerKey: entries.Sandbox().ServerKey,
		Unreachable:     e.Config.ConnectTimeout,
	})
	if err != nil {
		return nil, fmt.Errorf("make the tool server's client: %w", err)
	}
	return &sandboxTools{engine: e, loop: l, run: run, entries: entries, client: client, log: log}, nil
}

// classify turns what the tool server's client reports into what the loop knows: stale, lost, or nothing decided.
func classify(ctx context.Context, err error) error {
	switch {
	case err == nil || ctx.Err() != nil:
		return err
	case errors.Is(err, toolclient.ErrStaleEpoch):
		return motorloop.ErrStale
	}
	return &motorloop.Failure{
		Category:  motorloop.InfraFailure,
		Reason:    motorloop.ReasonSandboxLost,
		Message:   fmt.Sprintf("The sandbox's tool server does not answer as it must: %v. Create the run again.", err),
		Retryable: true,
	}
}
