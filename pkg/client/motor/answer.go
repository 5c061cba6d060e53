// SPDX-License-Identifier: Apache-2.0

package motor

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/pkg/client/motor/asks"
)

// Ref names an ask of exactly one run. After the deletion of a run another one can have its name, which can ask under the same id, as in retry-1.
type Ref struct {
	// Run is the name of the run, and UID that of the one that was shown.
	Run string
	UID types.UID
	// ID is that of the ask, "" for the only one that the answer fits.
	ID string
}

// RefTo returns the Ref of an ask of a run, as they were shown.
func RefTo(run *v1alpha1.MotorRun, ask *v1alpha1.PendingInput) Ref {
	return Ref{Run: run.Name, UID: run.UID, ID: ask.ID}
}

// Respond answers a question of a run. files come into the folder answers of its workspace; asks.File makes them of content. A reference to a ConfigMap or
// an artifact that has no digest gets that of the present content: the run is given no other.
func (c *Client) Respond(ctx context.Context, to Ref, answer string, files ...v1alpha1.ResponseFile) (*Changed, error) {
	if err := asks.CheckFiles(files); err != nil {
		return nil, err
	}
	meant, err := c.meant(ctx, files)
	if err != nil {
		return nil, err
	}
	return c.answer(ctx, to, v1alpha1.Response{Answer: answer, Files: meant}, v1alpha1.InputQuestion)
}

// Settle decides about a call of unknown outcome: Retry, Done or Skip. The model is told the reason of Done and Skip.
func (c *Client) Settle(ctx context.Context, to Ref, decision v1alpha1.Decision, reason string) (*Changed, error) {
	return c.answer(ctx, to, v1alpha1.Response{Decision: decision, Reason: reason}, v1alpha1.InputOutcomeUnknown)
}

// Approve approves the tool call with that digest: action.argsDigest of the ask, as the person saw it. With wholeRun it approves every further call of the
// same tool by the same rule, too. A call that Describe does not show whole is refused: its arguments cannot be read, have another digest, or are longer than
// 64 KiB.
func (c *Client) Approve(ctx context.Context, to Ref, digest string, wholeRun bool, reason string) (*Changed, error) {
	r := v1alpha1.Response{Decision: v1alpha1.DecisionApproveOnce, Digest: digest, Reason: reason}
	if wholeRun {
		r.Decision = v1alpha1.DecisionApproveRun
	}
	now, ask, err := c.find(ctx, to, &r, v1alpha1.InputApproval)
	if err != nil {
		return nil, err
	}
	if err := ofThatCall(to.Run, ask, digest); err != nil {
		return nil, err
	}
	arguments, err := c.whole(ctx, now, ask)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the call that the run %s asks about cannot be shown whole: nothing was approved: %w", to.Run, err)
	case len(arguments) > maxArgumentsShown:
		return nil, fmt.Errorf("the call that the run %s asks about has %d bytes of arguments, and at most %d are shown: nothing was approved. Deny it, or decide with kubectl motor",
			to.Run, len(arguments), maxArgumentsShown)
	}
	return c.send(ctx, now, ask, r)
}

// Allow lets a run reach the domain that it asks for: once, or until it ends.
func (c *Client) Allow(ctx context.Context, to Ref, wholeRun bool, reason string) (*Changed, error) {
	r := v1alpha1.Response{Decision: v1alpha1.DecisionAllowOnce, Reason: reason}
	if wholeRun {
		r.Decision = v1alpha1.DecisionAllowRun
	}
	return c.answer(ctx, to, r, v1alpha1.InputDomainRequest)
}

// Deny denies a tool call, by its digest, or a domain, which has none. The run goes on, and its model is told the reason.
func (c *Client) Deny(ctx context.Context, to Ref, digest, reason string) (*Changed, error) {
	r := v1alpha1.Response{Decision: v1alpha1.DecisionDeny, Digest: digest, Reason: reason}
	return c.answer(ctx, to, r, v1alpha1.InputApproval, v1alpha1.InputDomainRequest)
}

// Retried is what came of a retry.
type Retried struct {
	Run string `json:"runId"`
	// Attempt is the number of the attempt that begins. The first one of a run is 1.
	Attempt int32             `json:"attemptIndex"`
	Status  v1alpha1.RunPhase `json:"status"`
}

// Retry starts another attempt of a run whose last one failed. guidance tells the model what to do differently, and domains are hosts that the run may
// reach from then on: they need the verb approve.
func (c *Client) Retry(ctx context.Context, to Ref, guidance string, domains ...v1alpha1.Domain) (*Retried, error) {
	r := v1alpha1.Response{Decision: v1alpha1.DecisionRetry, Guidance: guidance, AddDomains: domains}
	now, ask, err := c.find(ctx, to, &r, v1alpha1.InputRetry)
	if err != nil {
		return nil, err
	}
	changed, err := c.send(ctx, now, ask, r)
	if err != nil {
		return nil, err
	}
	retried := &Retried{Run: to.Run, Status: changed.New}
	if ask.Attempt != nil {
		retried.Attempt = *ask.Attempt
	}
	return retried, nil
}

// Raise lets a run that has reached a bound of its budget spend more: by the amount, or by the one that it proposes if that is nil.
func (c *Client) Raise(ctx context.Context, to Ref, by *v1alpha1.BudgetAmount, reason string) (*Changed, error) {
	r := v1alpha1.Response{Decision: v1alpha1.DecisionRaise, Budget: by, Reason: reason}
	run, ask, err := c.find(ctx, to, &r, v1alpha1.InputBudgetExhausted)
	if err != nil {
		return nil, err
	}
	if r.Budget == nil {
		r.Budget = ask.RaiseBy
	}
	return c.send(ctx, run, ask, r)
}

// Stop ends a run after an attempt that failed, or at a bound of its budget. The end of the run has the reason.
func (c *Client) Stop(ctx context.Context, to Ref, reason string) (*Changed, error) {
	return c.answer(ctx, to, v1alpha1.Response{Decision: v1alpha1.DecisionStop, Reason: reason}, v1alpha1.InputRetry, v1alpha1.InputBudgetExhausted)
}

func (c *Client) answer(ctx context.Context, to Ref, r v1alpha1.Response, kinds ...v1alpha1.InputKind) (*Changed, error) {
	run, ask, err := c.find(ctx, to, &r, kinds...)
	if err != nil {
		return nil, err
	}
	if err := ofThatCall(to.Run, ask, r.Digest); err != nil {
		return nil, err
	}
	if ask.Kind == v1alpha1.InputDomainRequest {
		r.Digest = ""
	}
	return c.send(ctx, run, ask, r)
}

// ofThatCall returns an error for a decision about another call than the ask is about.
func ofThatCall(run string, ask *v1alpha1.PendingInput, digest string) error {
	if ask.Kind == v1alpha1.InputApproval && ask.Action != nil && digest != ask.Action.ArgsDigest {
		return fmt.Errorf("the call that the run %s asks about has the digest %s, and not %q: nothing was decided. Look at the call, and decide by its digest",
			run, ask.Action.ArgsDigest, digest)
	}
	return nil
}

// find reads the run, and the open ask that the response is for and that is of one of these kinds. Without an id it is the only one.
func (c *Client) find(
	ctx context.Context, to Ref, r *v1alpha1.Response, kinds ...v1alpha1.InputKind,
) (*v1alpha1.MotorRun, *v1alpha1.PendingInput, error) {
	if to.UID == "" {
		return nil, nil, fmt.Errorf("answer the run %s: the UID of the run that was shown is missing. RefTo has it", to.Run)
	}
	run, err := c.Run(ctx, to.Run)
	if err != nil {
		return nil, nil, err
	}
	if run.UID != to.UID {
		return nil, nil, fmt.Errorf("the run %s that asked is gone, and there is another one of its name: nothing was decided", to.Run)
	}
	fit := slices.DeleteFunc(asks.Open(run), func(p *v1alpha1.PendingInput) bool {
		return !slices.Contains(kinds, p.Kind) || to.ID != "" && p.ID != to.ID
	})
	switch len(fit) {
	case 1:
		return run, fit[0], nil
	case 0:
		switch given := asks.ResponseTo(run, to.ID); {
		case given != nil && asks.Same(given, r):
			return nil, nil, fmt.Errorf("the run %s %s", to.Run, already(given))
		case given != nil:
			return nil, nil, fmt.Errorf("the run %s does not ask that any more: it was answered already, %s", to.Run, said(given))
		}
		return nil, nil, fmt.Errorf("the run %s does not ask that: %s", to.Run, otherwise(run))
	}
	return nil, nil, fmt.Errorf("the run %s asks %d such things: name the id of one", to.Run, len(fit))
}

// otherwise says what a run asks, if it is not what an answer is for.
func otherwise(run *v1alpha1.MotorRun) string {
	var all []string
	for _, p := range asks.Open(run) {
		all = append(all, fmt.Sprintf("%s under the id %s", p.Kind, p.ID))
	}
	switch {
	case len(all) > 0:
		return "it asks " + strings.Join(all, ", ")
	case run.Status.CompletionTime != nil:
		return fmt.Sprintf("it asks nothing any more, it has ended (%s)", run.Status.Reason)
	}
	for i := range run.Status.PendingInputs {
		if r := asks.ResponseTo(run, run.Status.PendingInputs[i].ID); r != nil {
			return "it was answered already, " + said(r)
		}
	}
	return "it asks nothing now"
}

// send adds the response, and says why it was not taken.
func (c *Client) send(ctx context.Context, run *v1alpha1.MotorRun, ask *v1alpha1.PendingInput, r v1alpha1.Response) (*Changed, error) {
	body, err := asks.Patch(run, ask, r)
	if err != nil {
		return nil, err
	}
	changed, err := c.runs().Patch(ctx, run.Name, types.JSONPatchType, body, metav1.PatchOptions{})
	if err == nil {
		return c.observed(ctx, run, changed), nil
	}
	now, failed := c.runs().Get(ctx, run.Name, metav1.GetOptions{})
	if failed != nil {
		now = nil
	}
	what := fmt.Sprintf("the run %s did not take the answer", run.Name)
	switch why := asks.Refused(err, run, ask, now); why.Cause {
	case asks.Gone:
		return nil, fmt.Errorf("%s: the run that asked is gone", what)
	case asks.Answered:
		switch same := asks.Same(why.Response, &r); {
		case same && asks.Lost(err):
			return c.observed(ctx, run, now), nil // The answer of the API server was lost, and not that of the person.
		case same:
			return nil, fmt.Errorf("%s: it %s", what, already(why.Response))
		}
		return nil, fmt.Errorf("%s: it was answered a moment ago, %s", what, said(why.Response))
	case asks.NotAsked:
		return nil, fmt.Errorf("%s: it does not ask that any more. Look at its status", what)
	case asks.Denied, asks.NoRight, asks.Invalid, asks.Other:
	}
	return nil, c.refused(what, err, asks.Role(ask.Kind))
}

// already says that a run has the very response that was to be sent.
func already(r *v1alpha1.Response) string {
	return "has this very answer already, " + said(r) + ". Nothing more is to be done. If that is your account, an earlier try sent it"
}

// said is a response in words.
func said(r *v1alpha1.Response) string {
	what := string(r.Decision)
	if what == "" {
		what = strconv.Quote(head(r.Answer, 200))
	}
	if r.RespondedBy != "" {
		return fmt.Sprintf("by %s: %s", r.RespondedBy, what)
	}
	return "with " + what
}

// whole returns the arguments of the call that an ask is about, which are those of its digest: out of the status, or out of the step if the status has not all
// of them.
func (c *Client) whole(ctx context.Context, run *v1alpha1.MotorRun, ask *v1alpha1.PendingInput) (string, error) {
	a := ask.Action
	if a == nil {
		return "", fmt.Errorf("the ask %s does not say which call it is about", ask.ID)
	}
	if argsDigest(a.Tool, a.Arguments) == a.ArgsDigest {
		return a.Arguments, nil
	}
	arguments, err := c.Arguments(ctx, run, ask)
	if err != nil {
		return "", err
	}
	if got := argsDigest(a.Tool, arguments); got != a.ArgsDigest {
		return "", fmt.Errorf("the call in the step %s has the digest %s, and the ask %s is about one with %s", ask.StepName, got, ask.ID, a.ArgsDigest)
	}
	return arguments, nil
}

// Arguments returns the arguments of the call that an ask of the run is about, whole: the status of a run has the beginning and the end of long ones. It
// needs the right to read the steps of the run.
func (c *Client) Arguments(ctx context.Context, run *v1alpha1.MotorRun, ask *v1alpha1.PendingInput) (string, error) {
	step, err := c.clients.Motor.MotorCortexV1alpha1().MotorSteps(run.Namespace).Get(ctx, ask.StepName, metav1.GetOptions{})
	if err != nil {
		return "", c.refused("get the step "+ask.StepName, err, roleViewer)
	}
	i := slices.IndexFunc(step.Status.Asks, func(a v1alpha1.StepAsk) bool { return a.ID == ask.ID })
	if i < 0 {
		return "", fmt.Errorf("the step %s does not have the ask %s", ask.StepName, ask.ID)
	}
	j := slices.IndexFunc(step.Spec.ToolCalls, func(t v1alpha1.ToolCall) bool { return t.ID == step.Status.Asks[i].CallID })
	if j < 0 {
		return "", fmt.Errorf("the step %s does not have the call of the ask %s", ask.StepName, ask.ID)
	}
	return step.Spec.ToolCalls[j].Arguments, nil
}
