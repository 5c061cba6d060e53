// SPDX-License-Identifier: Apache-2.0

package motor

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"

	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/pkg/client/motor/asks"
)

const (
	// maxTask is the most bytes of a task in a list, and maxTaskWhole of that of one run.
	maxTask, maxTaskWhole = 200, 4 << 10
	// maxArgumentsShown is the most bytes of the arguments of a call that is to be approved.
	maxArgumentsShown = 64 << 10
)

// Summary is a run in a list.
type Summary struct {
	ID          string              `json:"id"`
	Status      v1alpha1.RunPhase   `json:"status"`
	Reason      string              `json:"reason,omitempty"`
	Task        string              `json:"task"`
	StartedAt   *time.Time          `json:"startedAt,omitempty"`
	CompletedAt *time.Time          `json:"completedAt,omitempty"`
	Iterations  int32               `json:"iterations"`
	Tools       []v1alpha1.ToolName `json:"tools,omitempty"`
	Skill       string              `json:"skill,omitempty"`
	// WaitsFor is the kind of the first ask that is open, "" if there is none.
	WaitsFor v1alpha1.InputKind `json:"waitsFor,omitempty"`
}

// Summarize is a run in a few words.
func Summarize(run *v1alpha1.MotorRun) Summary {
	st := &run.Status
	s := Summary{
		ID: run.Name, Status: st.Phase, Reason: st.Reason, Task: head(taskOf(run), maxTask), Iterations: st.Steps, Tools: run.Spec.Tools,
	}
	if s.Status == "" {
		s.Status = v1alpha1.PhaseCreated
	}
	if run.Spec.SkillRef != nil {
		s.Skill = run.Spec.SkillRef.Name
	}
	if st.StartTime != nil {
		s.StartedAt = &st.StartTime.Time
	}
	if st.CompletionTime != nil {
		s.CompletedAt = &st.CompletionTime.Time
	}
	if open := asks.Open(run); len(open) > 0 {
		s.WaitsFor = open[0].Kind
	}
	return s
}

func taskOf(run *v1alpha1.MotorRun) string {
	if run.Spec.Code != nil {
		return run.Spec.Code.Source
	}
	return run.Spec.Task
}

// Details are what there is to know of a run to go on with it. Texts are those of the run, as they are.
type Details struct {
	Summary
	// UID is that of the run. Another one can have its name later.
	UID     types.UID `json:"uid"`
	Message string    `json:"message,omitempty"`
	// Asks are those that are open.
	Asks     []AskDetails           `json:"asks,omitempty"`
	Attempts []AttemptDetails       `json:"attempts,omitempty"`
	Result   *ResultDetails         `json:"result,omitempty"`
	Usage    *v1alpha1.Usage        `json:"usage,omitempty"`
	Skills   *v1alpha1.SkillsResult `json:"skills,omitempty"`
	// Requester is who created the run, "" where the cluster did not say it.
	Requester string `json:"requester,omitempty"`
	// Domains are those that the run reaches now, and Credentials the names of those that it has.
	Domains     []v1alpha1.Domain `json:"domains,omitempty"`
	Credentials []string          `json:"credentials,omitempty"`
}

// AskDetails is something that a run asks.
type AskDetails struct {
	ID        string             `json:"id"`
	Kind      v1alpha1.InputKind `json:"kind"`
	Question  string             `json:"question,omitempty"`
	Options   []string           `json:"options,omitempty"`
	Default   string             `json:"default,omitempty"`
	Files     []string           `json:"files,omitempty"`
	Domain    v1alpha1.Domain    `json:"domain,omitempty"`
	Action    *ActionDetails     `json:"action,omitempty"`
	ExpiresAt *time.Time         `json:"expiresAt,omitempty"`
	// AnswerWith is the tool that answers it, with its actions, and Needs the verb that the account needs.
	AnswerWith string `json:"answerWith"`
	Needs      string `json:"needs"`
}

// ActionDetails is a tool call that a person decides about.
type ActionDetails struct {
	Tool       string `json:"tool"`
	Arguments  string `json:"arguments"`
	ArgsDigest string `json:"argsDigest"`
	Reason     string `json:"reason,omitempty"`
	Rule       string `json:"rule,omitempty"`
	// Check is true if the call is a command by which the run's success is checked, and not the model's.
	Check bool `json:"check,omitempty"`
	// Shortened is true if a part of the arguments is left out, or they are not those of the digest: a person must not approve what they have not seen.
	Shortened bool `json:"shortened,omitempty"`
}

// AttemptDetails is one attempt.
type AttemptDetails struct {
	Index     int32                    `json:"index"`
	Cause     v1alpha1.AttemptCause    `json:"cause,omitempty"`
	LastCalls []v1alpha1.CallHead      `json:"lastCalls,omitempty"`
	Failure   *v1alpha1.FailureSummary `json:"failure,omitempty"`
}

// ResultDetails is what a run came to.
type ResultDetails struct {
	OK        bool                `json:"ok"`
	Summary   string              `json:"summary,omitempty"`
	Partial   string              `json:"partial,omitempty"`
	Value     json.RawMessage     `json:"value,omitempty"`
	Artifacts []v1alpha1.Artifact `json:"artifacts,omitempty"`
	Stats     v1alpha1.RunStats   `json:"stats"`
}

// Describe returns the details of a run. The arguments of a call that is to be approved are read from its step, where the status has not all of them.
func (c *Client) Describe(ctx context.Context, name string) (*Details, error) {
	run, err := c.Run(ctx, name)
	if err != nil {
		return nil, err
	}
	d := c.describe(ctx, run)
	return &d, nil
}

func (c *Client) describe(ctx context.Context, run *v1alpha1.MotorRun) Details {
	st := &run.Status
	d := Details{Summary: Summarize(run), UID: run.UID, Message: st.Message}
	d.Task = head(taskOf(run), maxTaskWhole)
	if st.Usage.TotalTokens > 0 {
		d.Usage = &st.Usage
	}
	if st.Egress != nil {
		d.Domains, d.Credentials = st.Egress.Domains, st.Egress.Credentials
	}
	if run.Spec.Requester != nil {
		d.Requester = run.Spec.Requester.Username
	}
	for _, ask := range asks.Open(run) {
		d.Asks = append(d.Asks, c.askDetails(ctx, run, ask))
	}
	for _, a := range st.Attempts {
		d.Attempts = append(d.Attempts, AttemptDetails{Index: a.Index, Cause: a.Cause, LastCalls: a.LastCalls, Failure: a.Failure})
	}
	if r := st.Result; r != nil {
		d.Result = &ResultDetails{OK: r.OK, Summary: r.Summary, Partial: r.Partial, Artifacts: r.Artifacts, Stats: r.Stats}
		if json.Valid([]byte(r.Value)) {
			d.Result.Value = json.RawMessage(r.Value)
		}
		d.Skills = r.Skills
	}
	return d
}

// answers are the tools that answer asks, with their actions.
var answers = map[v1alpha1.InputKind]string{
	v1alpha1.InputQuestion: ToolDecide + " " + DecideAnswer, v1alpha1.InputOutcomeUnknown: ToolDecide + " " + DecideSettle,
	v1alpha1.InputApproval: ToolDecide + " approve or deny", v1alpha1.InputDomainRequest: ToolDecide + " allow or deny",
	v1alpha1.InputRetry:           ToolTask + " retry or cancel",
	v1alpha1.InputBudgetExhausted: ToolTask + " cancel",
}

func (c *Client) askDetails(ctx context.Context, run *v1alpha1.MotorRun, ask *v1alpha1.PendingInput) AskDetails {
	d := AskDetails{
		ID: ask.ID, Kind: ask.Kind, Question: ask.Question, Options: ask.Options, Default: ask.Default, Files: ask.Files, Domain: ask.Domain,
		AnswerWith: answers[ask.Kind], Needs: asks.Verb(ask.Kind),
	}
	if !ask.ExpirationTime.IsZero() {
		d.ExpiresAt = &ask.ExpirationTime.Time
	}
	a := ask.Action
	if a == nil {
		return d
	}
	d.Action = &ActionDetails{Tool: a.Tool, Arguments: a.Arguments, ArgsDigest: a.ArgsDigest, Reason: a.Reason, Rule: a.Rule, Check: a.Check}
	whole, err := c.whole(ctx, run, ask)
	if err != nil {
		d.Action.Shortened = true
		return d
	}
	d.Action.Arguments, d.Action.Shortened = visible(head(whole, maxArgumentsShown)), len(whole) > maxArgumentsShown
	return d
}

// visible is a text with every character escaped that is not printed, but for line breaks and tabs. The arguments in a status are like that, those in a step are as
// the model wrote them.
func visible(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.IsPrint(r) || r == '\n' || r == '\t' {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "\\u%04x", r)
		}
	}
	return b.String()
}
