// SPDX-License-Identifier: Apache-2.0

package motor

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

const (
	// defaultListed and maxListed are how many runs a list has, unless the call says it, and at most.
	defaultListed, maxListed = 20, 100
	// defaultWait and maxWait are how long a call waits. Many hosts give a tool a minute.
	defaultWait, maxWait = 50 * time.Second, 10 * time.Minute
	// oneshotWait is how long a call waits for the result of a Oneshot, its sandbox included.
	oneshotWait = 3 * time.Minute
)

type actArguments struct {
	Mode             string               `json:"mode"`
	Task             string               `json:"task"`
	Language         string               `json:"language"`
	Skill            string               `json:"skill"`
	Inputs           map[string]string    `json:"inputs"`
	SkillReview      bool                 `json:"skillReview"`
	Tools            []v1alpha1.ToolName  `json:"tools"`
	Domains          []v1alpha1.Domain    `json:"domains"`
	Credentials      []credentialArgument `json:"credentials"`
	Files            []textArgument       `json:"files"`
	ApprovalRequired bool                 `json:"approvalRequired"`
	MaxIterations    int32                `json:"maxIterations"`
	Timeout          int64                `json:"timeout"`
	Queue            bool                 `json:"queue"`
}

type credentialArgument struct {
	Name   string            `json:"name"`
	Secret string            `json:"secret"`
	Key    string            `json:"key"`
	Hosts  []v1alpha1.Domain `json:"hosts"`
}

// ref is the Secret, whose key is that of SetCredential if none is named.
func (a *credentialArgument) ref() v1alpha1.SecretKeyRef {
	if a.Key == "" {
		return v1alpha1.SecretKeyRef{Name: a.Secret, Key: credentialKey}
	}
	return v1alpha1.SecretKeyRef{Name: a.Secret, Key: a.Key}
}

type textArgument struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

type fileArgument struct {
	Path       string `json:"path"`
	Content    string `json:"content"`
	Executable bool   `json:"executable"`
}

// started is the result of an Agentic act.
type started struct {
	Run    string `json:"runId"`
	Status string `json:"status"`
}

// computed is the result of a Oneshot act.
type computed struct {
	OK         bool          `json:"ok"`
	Result     any           `json:"result,omitempty"`
	Head       string        `json:"head,omitempty"`
	Console    string        `json:"console,omitempty"`
	DurationMs int64         `json:"durationMs"`
	Error      *OneshotError `json:"error,omitempty"`
	Run        string        `json:"runId"`
}

func (t *Toolset) act(ctx context.Context, a actArguments) (any, error) {
	mode, known := map[string]v1alpha1.RunMode{"oneshot": v1alpha1.ModeOneshot, "agentic": v1alpha1.ModeAgentic}[a.Mode]
	if !known {
		return nil, fmt.Errorf("the mode %q is none of oneshot and agentic", a.Mode)
	}
	if a.Timeout < 0 || a.Timeout > (24*time.Hour).Milliseconds() {
		return nil, fmt.Errorf("the timeout %d is not 100 to 86400000 milliseconds", a.Timeout)
	}
	act := Act{
		Mode: mode, Task: a.Task, Language: a.Language, Skill: a.Skill, Inputs: a.Inputs, SkillReview: a.SkillReview, Tools: a.Tools, Domains: a.Domains,
		ApprovalRequired: a.ApprovalRequired, MaxIterations: a.MaxIterations, Timeout: time.Duration(a.Timeout) * time.Millisecond, Queue: a.Queue,
	}
	for i := range a.Credentials {
		c := &a.Credentials[i]
		if err := t.mayUse(ctx, c); err != nil {
			return nil, err
		}
		act.Credentials = append(act.Credentials, v1alpha1.Credential{Name: c.Name, SecretRef: c.ref(), Hosts: c.Hosts})
	}
	for i := range a.Files {
		act.Files = append(act.Files, v1alpha1.InputFile{Path: a.Files[i].Path, Content: &a.Files[i].Content})
	}
	if mode == v1alpha1.ModeOneshot {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, oneshotWait)
		defer cancel()
	}
	acted, err := t.Client.Act(ctx, act)
	if err != nil {
		return nil, err
	}
	o := acted.Oneshot
	if o == nil {
		return started{Run: acted.Run, Status: "created"}, nil
	}
	c := computed{OK: o.OK, Head: o.Head, Console: o.Console, DurationMs: o.DurationMs, Error: o.Error, Run: acted.Run}
	if len(o.Value) > 0 {
		c.Result = o.Value
	}
	return c, nil
}

// actionCredentials is what Consent is asked about a run that sends a value to hosts that its Secret does not name.
const actionCredentials = "credentials"

// mayUse asks for consent to a credential for hosts that the Secret does not name. The operator lets an account that may get the Secret choose any host: a
// model with the rights of that account would choose one of its own.
func (t *Toolset) mayUse(ctx context.Context, c *credentialArgument) error {
	beyond, err := t.Client.beyond(ctx, c.Secret, c.Hosts)
	if err == nil && len(beyond) == 0 {
		return nil
	}
	refused := t.consent(ctx, ToolAct, actionCredentials)
	switch {
	case refused == nil:
		return nil
	case err != nil:
		return fmt.Errorf("the credential %q: whether the Secret %q names its hosts cannot be read (%w): %w", c.Name, c.Secret, err, refused)
	}
	return fmt.Errorf("the credential %q: the annotation %s of the Secret %q does not name %q: %w", c.Name, annotationHosts, c.Secret, beyond, refused)
}

// actionRespond and actionApprove are of core_task, the second one of core_skill too. core_decide has all that a person can decide.
const actionRespond, actionApprove = "respond", "approve"

type taskArguments struct {
	Action         string            `json:"action"`
	Run            string            `json:"runId"`
	UID            types.UID         `json:"runUid"`
	Status         v1alpha1.RunPhase `json:"status"`
	Limit          int               `json:"limit"`
	TimeoutSeconds int               `json:"timeoutSeconds"`
	AskID          string            `json:"askId"`
	Answer         string            `json:"answer"`
	Digest         string            `json:"digest"`
	Guidance       string            `json:"guidance"`
	Domains        []v1alpha1.Domain `json:"domains"`
}

// decides reports whether only a person may decide what the call does.
func (a *taskArguments) decides() bool {
	switch a.Action {
	case actionRespond, actionApprove:
		return true
	case actionRetry:
		// Another attempt is the program's to make. Where it may reach is not.
		return len(a.Domains) > 0
	}
	return false
}

// check returns an error for a decision that does not say what it is about.
func (a *taskArguments) check() error {
	switch {
	case a.Run == "":
		return missing(a.Action, "runId")
	case a.Action == actionRetry:
		// A run has one ask of the kind at most.
		return nil
	// Without the id the answer could be to another ask than the person saw.
	case a.AskID == "":
		return missing(a.Action, "askId")
	case a.Action == actionRespond && a.Answer == "":
		return missing(a.Action, "answer")
	}
	return nil
}

func (t *Toolset) task(ctx context.Context, a taskArguments, progress func(Event)) (any, error) {
	if a.Action != "list" && a.Run == "" {
		return nil, missing(a.Action, "runId")
	}
	if a.decides() {
		if err := t.consent(ctx, ToolTask, a.Action); err != nil {
			return nil, err
		}
	}
	switch a.Action {
	case "list":
		return t.listRuns(ctx, a)
	case "status":
		run, err := t.Client.Run(ctx, a.Run)
		if err != nil {
			return nil, err
		}
		return t.Client.describe(ctx, run), nil
	case "wait":
		return t.wait(ctx, a, progress)
	case "cancel":
		return t.Client.Cancel(ctx, a.Run)
	case "log":
		log, err := t.Client.Log(ctx, a.Run)
		return map[string]string{"log": log}, err
	case actionRetry:
		to, err := t.ref(ctx, a)
		if err != nil {
			return nil, err
		}
		return t.Client.Retry(ctx, to, a.Guidance, a.Domains...)
	case actionRespond, actionApprove:
		return t.answer(ctx, a)
	case DecideDeny, DecideAllow, DecideSettle:
		return nil, fmt.Errorf("%s is an action of %s", a.Action, ToolDecide)
	}
	return nil, fmt.Errorf("the action %q is none of list, status, wait, cancel, respond, approve, log and retry", a.Action)
}

// answer carries out what a person decided.
func (t *Toolset) answer(ctx context.Context, a taskArguments) (any, error) {
	if err := a.check(); err != nil {
		return nil, err
	}
	to, err := t.ref(ctx, a)
	if err != nil {
		return nil, err
	}
	if a.Action == actionApprove {
		// A call without a digest is refused, with the digest that there is.
		return t.Client.Approve(ctx, to, a.Digest, false, "")
	}
	return t.Client.Respond(ctx, to, a.Answer)
}

// ref is the ask that the call names. A model that leaves the UID of the run out answers the run that has the name now.
func (t *Toolset) ref(ctx context.Context, a taskArguments) (Ref, error) {
	to := Ref{Run: a.Run, UID: a.UID, ID: a.AskID}
	if to.UID == "" {
		run, err := t.Client.Run(ctx, a.Run)
		if err != nil {
			return to, err
		}
		to.UID = run.UID
	}
	return to, nil
}

// listed is the result of a list.
type listed struct {
	Runs  []Summary `json:"runs"`
	Total int       `json:"total"`
}

func (t *Toolset) listRuns(ctx context.Context, a taskArguments) (any, error) {
	limit := a.Limit
	if limit <= 0 {
		limit = defaultListed
	}
	runs, total, err := t.Client.Runs(ctx, a.Status, min(limit, maxListed))
	if err != nil {
		return nil, err
	}
	l := listed{Runs: make([]Summary, 0, len(runs)), Total: total}
	for i := range runs {
		l.Runs = append(l.Runs, Summarize(&runs[i]))
	}
	return l, nil
}

// waited is the result of a wait.
type waited struct {
	// Over is true if the time was over before the run ended or asked something.
	Over bool `json:"timeIsOver"`
	Details
}

func (t *Toolset) wait(ctx context.Context, a taskArguments, progress func(Event)) (any, error) {
	limit := time.Duration(a.TimeoutSeconds) * time.Second
	if a.TimeoutSeconds <= 0 {
		limit = defaultWait
	}
	within, cancel := context.WithTimeout(ctx, min(limit, maxWait))
	defer cancel()
	var last *v1alpha1.MotorRun
	for e, err := range t.Client.Watch(within, a.Run) {
		switch {
		case err != nil && ctx.Err() == nil && within.Err() != nil && last != nil:
			return waited{Over: true, Details: t.Client.describe(ctx, last)}, nil
		case err != nil:
			return nil, err
		}
		last = e.Run
		if progress != nil {
			progress(e)
		}
		if e.Type == EventEnded || e.Type == EventAsked {
			return waited{Details: t.Client.describe(ctx, e.Run)}, nil
		}
	}
	return nil, fmt.Errorf("the run %s cannot be watched: ask for its status", a.Run)
}

type credentialArguments struct {
	Action string            `json:"action"`
	Secret string            `json:"secret"`
	Value  string            `json:"value"`
	Hosts  []v1alpha1.Domain `json:"hosts"`
}

func (t *Toolset) credential(ctx context.Context, a credentialArguments) (any, error) {
	if a.Action == "list" {
		found, err := t.Client.Credentials(ctx)
		return map[string]any{"credentials": found}, err
	}
	if a.Action != "set" && a.Action != "delete" {
		return nil, fmt.Errorf("the action %q is none of list, set and delete", a.Action)
	}
	if a.Secret == "" {
		return nil, missing(a.Action, "secret")
	}
	if err := t.consent(ctx, ToolCredential, a.Action); err != nil {
		return nil, err
	}
	if a.Action == "delete" {
		return map[string]string{"deleted": a.Secret}, t.Client.DeleteCredential(ctx, a.Secret)
	}
	return map[string]any{"secret": a.Secret, "key": credentialKey, "hosts": a.Hosts}, t.Client.SetCredential(ctx, a.Secret, a.Value, a.Hosts)
}
