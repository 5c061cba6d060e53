// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"encoding/json"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/text"
)

// The most bytes of each text of a signal, in JSON.
const (
	maxQuestion  = 8 << 10
	maxSummary   = 16 << 10
	maxMessage   = 2 << 10
	maxStatement = 512
	maxOption    = 1 << 10
	maxArguments = 8 << 10
	// maxValue is the most bytes of a value as JSON. A longer one is left out: a piece of it is no JSON.
	maxValue = 8 << 10
)

// Result is the data of a signal about a run. Fields that do not belong to its status are left out.
type Result struct {
	Kind string `json:"kind"`
	// RunID is the name of the run.
	RunID     string `json:"runId"`
	Namespace string `json:"namespace"`
	UID       string `json:"uid"`
	// Status is started, progress, awaiting_input, completed, failed or cancelled.
	Status string `json:"status"`
	// Reason is that of the condition Succeeded.
	Reason string `json:"reason,omitempty"`
	// Statement is the first line that the model said beside its calls, Tools names those of the calls, and Step is the name of the MotorStep.
	Statement string `json:"statement,omitempty"`
	Tools     string `json:"tools,omitempty"`
	Step      string `json:"step,omitempty"`
	// Question is what a person is asked, and Input how it is answered.
	Question string `json:"question,omitempty"`
	Input    *Input `json:"input,omitempty"`
	// Reminder is true if the ask was told before, and its deadline is near.
	Reminder bool     `json:"reminder,omitempty"`
	Task     *Task    `json:"result,omitempty"`
	Error    *Failure `json:"error,omitempty"`
}

// Input says how an ask is answered.
type Input struct {
	// ID is that of a response.
	ID      string             `json:"id"`
	Kind    v1alpha1.InputKind `json:"kind"`
	Options []string           `json:"options,omitempty"`
	Default string             `json:"default,omitempty"`
	// Files are those that the model wants with the answer.
	Files  []string `json:"files,omitempty"`
	Domain string   `json:"domain,omitempty"`
	// Tool, Arguments and Digest are of a call that waits for approval. A decision names the digest.
	Tool      string `json:"tool,omitempty"`
	Arguments string `json:"arguments,omitempty"`
	Digest    string `json:"digest,omitempty"`
	// ExpirationTime is until when there is time for an answer, OnTimeout what becomes of the ask then.
	ExpirationTime *time.Time         `json:"expirationTime,omitempty"`
	OnTimeout      v1alpha1.OnTimeout `json:"onTimeout,omitempty"`
}

// Task is what a run came to.
type Task struct {
	OK      bool   `json:"ok"`
	Summary string `json:"summary"`
	// Value is the result as JSON, if it has at most 8 KiB.
	Value json.RawMessage `json:"value,omitempty"`
	// Skills are those that the run proposes. A person reviews them.
	Skills *Skills `json:"skills,omitempty"`
	Stats  Stats   `json:"stats"`
}

// Skills are names of Skills that a run wrote.
type Skills struct {
	Created []string `json:"created,omitempty"`
	Updated []string `json:"updated,omitempty"`
}

// Stats count what a run took.
type Stats struct {
	Iterations int32 `json:"iterations"`
	DurationMs int64 `json:"durationMs"`
	Errors     int32 `json:"errors"`
	ToolCalls  int32 `json:"toolCalls"`
	Tokens     int64 `json:"tokens"`
	// EnergyCost is what the run drained from the energy of its namespace, left out where that is not configured.
	EnergyCost json.Number `json:"energyCost,omitempty"`
	// Cost is a decimal number in the currency, "" where no model has a price.
	Cost     string `json:"cost,omitempty"`
	Currency string `json:"currency,omitempty"`
}

// Failure says why a run failed.
type Failure struct {
	Message   string `json:"message"`
	LastStep  string `json:"lastStep,omitempty"`
	Category  string `json:"category,omitempty"`
	Reason    string `json:"reason,omitempty"`
	Retryable bool   `json:"retryable,omitempty"`
	Hint      string `json:"hint,omitempty"`
}

func progressOf(s *v1alpha1.MotorStep) *Result {
	return &Result{Status: "progress", Statement: statement(s.Spec.Content), Tools: text.CutBytes(s.Spec.Tools, maxStatement), Step: s.Name}
}

func askOf(p *v1alpha1.PendingInput) *Result {
	in := &Input{
		ID: p.ID, Kind: p.Kind, Default: shown(p.Default, maxOption), Domain: string(p.Domain), OnTimeout: p.OnTimeout,
	}
	for _, o := range p.Options {
		in.Options = append(in.Options, shown(o, maxOption))
	}
	for _, f := range p.Files {
		in.Files = append(in.Files, shown(f, maxOption))
	}
	if a := p.Action; a != nil {
		in.Tool, in.Arguments, in.Digest = a.Tool, shown(a.Arguments, maxArguments), a.ArgsDigest
	}
	if !p.ExpirationTime.IsZero() {
		in.ExpirationTime = new(p.ExpirationTime.UTC())
	}
	return &Result{Status: "awaiting_input", Question: shown(p.Question, maxQuestion), Input: in, Step: p.StepName}
}

func taskOf(r *v1alpha1.RunResult) *Task {
	if r == nil {
		return nil
	}
	t := &Task{OK: r.OK, Summary: shown(r.Summary, maxSummary), Stats: Stats{
		Iterations: r.Stats.Iterations, DurationMs: r.Stats.DurationMilliseconds, Errors: r.Stats.Errors,
		ToolCalls: r.Stats.ToolCalls, Tokens: r.Stats.Tokens, EnergyCost: json.Number(r.Stats.EnergyCost),
		Cost: string(r.Stats.Cost), Currency: string(r.Stats.Currency),
	}}
	t.Value = valueOf(r.Value)
	if s := r.Skills; s != nil && len(s.Created)+len(s.Updated) > 0 {
		t.Skills = &Skills{namesOf(s.Created), namesOf(s.Updated)}
	}
	return t
}

func namesOf(list []v1alpha1.ProposedSkill) (names []string) {
	for i := range list {
		names = append(names, list[i].Name)
	}
	return names
}

// valueOf returns a value as JSON, nil if it has too many bytes in a signal or looks as if it had a secret in it.
func valueOf(v string) json.RawMessage {
	if v == "" || len(v) > maxValue || hide(v) != v {
		return nil
	}
	encoded, err := json.Marshal(json.RawMessage(v))
	if err != nil || len(encoded) > maxValue {
		return nil
	}
	return encoded
}

// failureOf returns why a run failed: the failure of its last attempt, or what its status says.
func failureOf(run *v1alpha1.MotorRun) *Failure {
	f := &Failure{Message: shown(run.Status.Message, maxMessage)}
	a := run.Status.LatestAttempt()
	if a == nil || a.Failure == nil {
		return f
	}
	last := a.Failure
	f.LastStep, f.Category, f.Reason, f.Retryable = last.LastStepName, string(last.Category), last.Reason, last.Retryable
	f.Hint = shown(last.Hint, maxMessage)
	if last.Message != "" {
		f.Message = shown(last.Message, maxMessage)
	}
	return f
}
