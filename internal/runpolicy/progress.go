// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/budget"
	"motorcortex.dev/motorcortex/internal/runpolicy/calls"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

const (
	maxLastCalls = 5
	// maxUnknownCalls bounds the calls of unknown outcome that are named.
	maxUnknownCalls = toolapi.MaxCalls
)

// Progress is the state of a run according to its journal.
type Progress struct {
	// Attempt is the current attempt, from 1; 0 if there is none yet.
	Attempt int32
	// Epoch is the highest under which a step was written.
	Epoch int64
	// Turns is the number of the model's answers in all attempts.
	Turns int32
	// Usage, ToolCalls, Errors, Model and Tool are sums over all attempts.
	Usage             v1alpha1.Usage
	ToolCalls, Errors int32
	Model, Tool       time.Duration
	// Costs are usages by the number of the attempt, nil while no answer has a cost. Only their costs count.
	Costs map[int32]v1alpha1.Usage
	// Waited is how long people took, in all attempts, for the answers that the run has used.
	Waited time.Duration
	// Away is for how long the model could not be had, in all attempts, where that is over.
	Away time.Duration
	// Outage is why it cannot be had now, nil if nothing is known against it.
	Outage *Outage
	// Asked are the asks of all attempts by their ids.
	Asked map[string]v1alpha1.StepAsk
	// DomainRequests are the requests for domains of all attempts, in their order.
	DomainRequests []DomainRequest
	// Sandbox is the last proof of the isolation of the run's present sandbox, as a step in that sandbox records it.
	Sandbox *v1alpha1.StepSandbox
	// ModelName is the model of the last turn.
	ModelName string
	// Artifacts is the result of the last collection, of any attempt, nil if there was none.
	Artifacts *v1alpha1.ArtifactList
	// Skills is the last recorded result of the skills in the workspace, of any attempt, nil if there is none.
	Skills *v1alpha1.SkillsResult

	// The following fields are about the current attempt.

	// Iterations is the number of the model's answers in it, AttemptUsage what they took.
	Iterations   int32
	AttemptUsage v1alpha1.Usage
	// LastCalls are its last tool calls.
	LastCalls []v1alpha1.CallHead
	// Calls are its calls that have a result, as the steps have them.
	Calls []calls.Recorded
	// LastStep is the name of its last step, its end not counted.
	LastStep string
	// Running is the first call of its last turn that has no result and asks no person, nil if there is none.
	Running *RunningCall
	// InBackground is true if a program runs in the background of the attempt, according to its steps.
	InBackground bool
	// Closed is true if nothing more follows in it. NotCollected is why not everything that it leaves behind was collected.
	Closed       bool
	NotCollected string
	// Pending is the ask that has no outcome yet, answered in the spec or not.
	Pending *v1alpha1.PendingInput
	// Unknown are the last calls of which it is unknown whether they took effect. They were recorded as such, have no result yet, were broken off in
	// the last turn, or left a program in the background whose end was not observed. Calls that only read are not among them.
	Unknown []calls.Ref
	// Final is the model's closing text, nil until it gave one.
	Final *string
	// Finished is true if its last turn has an accepted call of finish. The step after it records the end.
	Finished bool
	// Accepted is the end that such a call requests, nil if there is none. The call must be a success, and either nothing more has to hold, or the
	// checks after it have all passed. Only whole steps have it: the arguments of the call may be long.
	Accepted *toolapi.FinishArgs
	// Claimed are the arguments of the last accepted finish call that claims success, nil if there is none.
	Claimed *toolapi.FinishArgs
	// Failure is how the attempt ended without success, nil if it did not. Partial is the partial result at that time.
	Failure *v1alpha1.StepOutcome
	Partial string
	// Value is the result as JSON: the model's value with its closing text, or the value of the code of a Oneshot run; "" until there is one. Then
	// Final or Failure is set too.
	Value string
	// Packages is the archive that a run of mode Install installed, nil until then. Final is set together with it.
	Packages *v1alpha1.PackageArchive
}

// RunningCall is a call that is being made, as far as the journal knows.
type RunningCall struct {
	ID, Tool string
	// Step is the index of its step.
	Step int32
	// Since is when everything before it was done, in whole seconds.
	Since time.Time
}

// String names the call for a person.
func (c *RunningCall) String() string {
	return fmt.Sprintf("step %d: %s (%s), since %s", c.Step, fit.OneLine(c.Tool, maxTool), c.ID, c.Since.UTC().Format(time.RFC3339))
}

// runningCall returns the first call of a step without a result, nil if there is none but questions. The calls of a step are made one after the
// other.
func runningCall(s *v1alpha1.MotorStep) *RunningCall {
	if s.Spec.Type != v1alpha1.StepTurn {
		return nil
	}
	for i := range s.Spec.ToolCalls {
		if c := &s.Spec.ToolCalls[i]; calls.ResultOf(s, c.ID) == nil && !asksLast(c.Tool) {
			return &RunningCall{ID: c.ID, Tool: c.Tool, Step: s.Spec.Index, Since: busySince(s)}
		}
	}
	return nil
}

// asksLast reports whether the calls of a tool ask a person when everything else of their turn is done.
func asksLast(tool string) bool {
	return tool == toolapi.ToolAskUser || tool == toolapi.ToolRequestDomain
}

// ReadJournal sums up the steps of a run, which are ordered by attempt and index.
func ReadJournal(run *v1alpha1.MotorRun, steps []v1alpha1.MotorStep) Progress {
	p := Progress{Asked: map[string]v1alpha1.StepAsk{}}
	p.Attempt = CurrentAttempt(run).Index
	for i := range steps {
		// No attempt has steps before it is in the status, unless the status was lost.
		p.Attempt = max(p.Attempt, steps[i].Spec.Attempt)
	}
	for i := range steps {
		p.add(run, &steps[i])
	}
	p.giveUpOutage(run)
	if p.Pending != nil && p.give(run, p.Attempt, p.Pending) {
		p.Pending = nil
	}
	p.Unknown = append(p.Unknown, calls.OpenPrograms(steps, p.Attempt)...)
	p.InBackground = calls.RunsInBackground(steps, p.Attempt)
	if c := p.Running; c != nil {
		p.LastCalls = append(p.LastCalls, v1alpha1.CallHead{ID: c.ID, Tool: fit.CutEncoded(c.Tool, maxTool), StartTime: new(metav1.NewTime(c.Since))})
	}
	p.LastCalls = lastOf(p.LastCalls, maxLastCalls)
	p.Unknown = lastOf(p.Unknown, maxUnknownCalls)
	return p
}

// give adds the time for which a question was open at the end of an attempt: no later use of an answer counts it. It reports whether the attempt
// has ended.
func (p *Progress) give(run *v1alpha1.MotorRun, attempt int32, open *v1alpha1.PendingInput) bool {
	a := run.Status.AttemptNumber(attempt)
	if a == nil || a.CompletionTime == nil {
		return false
	}
	p.Waited += max(0, a.CompletionTime.Sub(open.AskTime.Time))
	return true
}

func lastOf[T any](list []T, n int) []T {
	return slices.Clip(list[max(0, len(list)-n):])
}

func (p *Progress) add(run *v1alpha1.MotorRun, s *v1alpha1.MotorStep) {
	current := s.Spec.Attempt == p.Attempt
	p.Epoch = max(p.Epoch, s.Spec.Epoch)
	if s.Spec.Type == v1alpha1.StepOutage {
		p.addOutage(run, s)
		return
	}
	p.endOutage(s)
	if current {
		p.Running = runningCall(s)
		p.Closed, p.NotCollected = s.Status.Closed != nil, ""
		if p.Closed {
			p.NotCollected = s.Status.Closed.Problem
		}
	}
	addUsage(&p.Usage, s.Spec.Usage)
	addUsage(&p.Usage, s.Spec.FailedUsage)
	p.addCosts(s.Spec.Attempt, s.Spec.Usage, s.Spec.FailedUsage)
	p.Model += time.Duration(s.Spec.ModelMilliseconds) * time.Millisecond
	if current {
		addUsage(&p.AttemptUsage, s.Spec.Usage)
		addUsage(&p.AttemptUsage, s.Spec.FailedUsage)
	}
	if isProof(run, s.Spec.Sandbox) {
		p.Sandbox = s.Spec.Sandbox
	}
	p.Artifacts = cmp.Or(s.Status.Artifacts, p.Artifacts)
	p.Skills = cmp.Or(s.Status.Skills, p.Skills)
	switch s.Spec.Type {
	case v1alpha1.StepEnd:
		if current {
			p.Failure, p.Partial = s.Spec.Outcome, s.Spec.Content
			p.endOnce()
		}
	case v1alpha1.StepTurn:
		p.addTurn(run, s, current)
	case v1alpha1.StepSummary, v1alpha1.StepOutage:
		// It cost something and did nothing.
	}
	if current && s.Spec.Type != v1alpha1.StepEnd {
		p.LastStep = s.Name
	}
}

func (p *Progress) addCosts(attempt int32, usages ...v1alpha1.Usage) {
	for _, u := range usages {
		if u.Cost == "" && !u.Unpriced {
			continue
		}
		if p.Costs == nil {
			p.Costs = map[int32]v1alpha1.Usage{}
		}
		sum := p.Costs[attempt]
		budget.AddCost(&sum, u)
		p.Costs[attempt] = sum
	}
}

// ShowCosts writes the costs of the attempts into the status. A leader of an earlier version does not know them, and drops those of attempts that are over.
func ShowCosts(st *v1alpha1.MotorRunStatus, p Progress) {
	for i := range st.Attempts {
		a := &st.Attempts[i]
		if u, known := p.Costs[a.Index]; known {
			a.Usage.Cost, a.Usage.Currency, a.Usage.Unpriced = u.Cost, u.Currency, u.Unpriced
		}
	}
}

func addUsage(sum *v1alpha1.Usage, u v1alpha1.Usage) {
	sum.PromptTokens += u.PromptTokens
	sum.CompletionTokens += u.CompletionTokens
	sum.CachedTokens += u.CachedTokens
	sum.TotalTokens += u.TotalTokens
	sum.Estimated = sum.Estimated || u.Estimated
	budget.AddCost(sum, u)
}

func (p *Progress) addTurn(run *v1alpha1.MotorRun, s *v1alpha1.MotorStep, current bool) {
	if s.Spec.Index == 1 {
		// The finish call of another attempt does not count for this one.
		p.Finished = false
	}
	if s.Spec.Final && p.Finished {
		// It records the end that the answer before asked for, and is no answer itself.
		if current {
			p.Final, p.Value = &s.Spec.Content, s.Spec.Value
		}
		return
	}
	if !s.Spec.Checks {
		p.Turns++
		p.ModelName = s.Spec.Model
		p.Finished = hasFinish(s)
	}
	if current {
		p.Accepted = p.acceptedBy(run, s)
	}
	p.Tool += time.Duration(s.Status.ToolMilliseconds) * time.Millisecond
	p.addRequests(s)
	for i := range s.Spec.ToolCalls {
		c := &s.Spec.ToolCalls[i]
		if r := calls.ResultOf(s, c.ID); r != nil {
			p.addResult(c, r, current)
		}
	}
	p.Waited += waitedIn(s)
	pending := p.addAsks(run, s)
	if !current {
		if pending != nil {
			p.give(run, s.Spec.Attempt, pending)
		}
		return
	}
	if !s.Spec.Checks {
		p.Iterations++
	}
	p.Pending = pending
	switch {
	case s.Spec.Final && isUnproven(run):
		p.Failure, p.Partial = unproven(), s.Spec.Content
	case s.Spec.Final:
		p.Final = &s.Spec.Content
	}
	switch run.Spec.Mode {
	case v1alpha1.ModeOneshot:
		p.addOneshot(run, s)
	case v1alpha1.ModeInstall:
		p.addInstall(s)
	case v1alpha1.ModeAgentic:
	}
	// The model has read of the calls that were broken off before this turn, and acted on them as it saw fit.
	p.Unknown = slices.DeleteFunc(p.Unknown, func(c calls.Ref) bool { return c.BrokenOff })
	p.Unknown = append(p.Unknown, calls.OpenChecks(run, s, append(calls.Unknown(s), calls.BrokenOff(s)...))...)
}

// addAsks records the asks of a turn, and returns the open one, nil for none.
func (p *Progress) addAsks(run *v1alpha1.MotorRun, s *v1alpha1.MotorStep) *v1alpha1.PendingInput {
	for _, a := range s.Status.Asks {
		p.Asked[a.ID] = a
	}
	if a := OpenAsk(s); a != nil {
		return Shown(run, s, a)
	}
	return nil
}

// hasFinish reports whether a step has a call of finish that was accepted.
func hasFinish(s *v1alpha1.MotorStep) bool {
	return slices.ContainsFunc(s.Spec.ToolCalls, func(c v1alpha1.ToolCall) bool {
		r := calls.ResultOf(s, c.ID)
		return c.Tool == toolapi.ToolFinish && r != nil && r.OK
	})
}

// addRequests records the requests for domains of a turn, and its effect on earlier ones.
func (p *Progress) addRequests(s *v1alpha1.MotorStep) {
	if allSettled(s) || usedOnce(s) {
		// They were of other turns, and this one comes after.
		p.endOnce()
	}
	for _, a := range s.Status.Asks {
		if a.Kind != v1alpha1.InputDomainRequest {
			continue
		}
		r := calls.ResultOf(s, a.CallID)
		p.DomainRequests = append(p.DomainRequests, DomainRequest{
			ID: a.ID, Domain: a.Domain, Attempt: s.Spec.Attempt, Step: s.Spec.Index,
			Refused: r != nil && !r.OK, Over: s.Spec.Attempt != p.Attempt,
		})
	}
}

// endOnce ends the domains that were allowed once until now.
func (p *Progress) endOnce() {
	for i := range p.DomainRequests {
		p.DomainRequests[i].Over = true
	}
}

func allSettled(s *v1alpha1.MotorStep) bool {
	for i := range s.Spec.ToolCalls {
		if calls.ResultOf(s, s.Spec.ToolCalls[i].ID) == nil {
			return false
		}
	}
	return true
}

func (p *Progress) addResult(c *v1alpha1.ToolCall, r *v1alpha1.ToolResult, current bool) {
	p.ToolCalls++
	if !r.OK {
		p.Errors++
	}
	if !current {
		return
	}
	p.Calls = append(p.Calls, calls.Recorded{Call: c, Result: r})
	p.LastCalls = append(p.LastCalls, v1alpha1.CallHead{
		ID: c.ID, Tool: fit.CutEncoded(c.Tool, maxTool), OK: r.OK, ErrorCode: r.ErrorCode, DurationMilliseconds: r.DurationMilliseconds,
		Head: fit.CutEncoded(fit.Cut(r.Output, fit.MaxHead), fit.MaxHead),
	})
}

// maxTool bounds the name of a tool in the status, in bytes: the model can make up any name.
const maxTool = 128
