// SPDX-License-Identifier: Apache-2.0

package motor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/pkg/client/motor/inputs"
)

// Act is a task to carry out.
type Act struct {
	// Mode is v1alpha1.ModeAgentic, the default, or v1alpha1.ModeOneshot.
	Mode v1alpha1.RunMode
	// Task is what to do, in plain language. In a Oneshot it is the program.
	Task string
	// Language of the program of a Oneshot: "javascript", the default, or "python".
	Language string
	// Skill that the run uses, with values for its inputs.
	Skill  string
	Inputs map[string]string
	// SkillReview has the model look at the files of Skill and say what it thinks of them.
	SkillReview bool
	Tools       []v1alpha1.ToolName
	Domains     []v1alpha1.Domain
	Credentials []v1alpha1.Credential
	Files       []v1alpha1.InputFile
	// ApprovalRequired has a person approve what cannot be undone before it is done.
	ApprovalRequired bool
	// MaxIterations is the most answers of the model, 1 to 50; 0 for the default of the API.
	MaxIterations int32
	// Timeout is how long the run may take: 100 ms to 5 s for a Oneshot, 30 s with domains; 1 s to a day for an Agentic run. 0 for the default of
	// the API.
	Timeout time.Duration
	// Queue lets the run wait for its turn where the namespace is busy. Without it, Act returns a BusyError then.
	Queue bool
}

// Acted is what came of an Act.
type Acted struct {
	// Run is the name of the run.
	Run string
	// Oneshot is the result of a Oneshot, nil for an Agentic run, which goes on.
	Oneshot *OneshotResult
	// FilesUnowned is the ConfigMap with the large files of the run, if the account may not make the run its owner: delete it after the run. It is "" in
	// every other case.
	FilesUnowned string
}

// OneshotResult is what the program of a Oneshot came to.
type OneshotResult struct {
	// OK is true if the program ended by itself without an error.
	OK bool `json:"ok"`
	// Value is what it returned, as JSON. Head has the beginning of one that is too long.
	Value json.RawMessage `json:"value,omitempty"`
	Head  string          `json:"head,omitempty"`
	// Console is what it printed.
	Console string `json:"console,omitempty"`
	// DurationMs is how long it ran, in milliseconds.
	DurationMs int64 `json:"durationMs"`
	// Error says why it is not OK.
	Error *OneshotError `json:"error,omitempty"`
}

// OneshotError says why a program did not end by itself.
type OneshotError struct {
	Code    string `json:"code"`
	Message string `json:"message,omitempty"`
}

// Act creates a run. If its files have more than inputs.InlineBytes together, the largest are in a ConfigMap that is deleted with the run, where the account
// may create, get and patch ConfigMaps. Of mode Agentic it returns at once. Of mode Oneshot it returns the result: if the context ends first the error names the run, which
// goes on. The error is a *BusyError where the namespace has a MotorCortex, whose places are all taken. Two calls in the same instant can both find a
// place: then the API server lets one wait for its turn, or ends it, as the MotorCortex says.
func (c *Client) Act(ctx context.Context, a Act) (*Acted, error) {
	run, err := a.run(c.namespace)
	if err != nil {
		return nil, err
	}
	if run.Spec.Mode == v1alpha1.ModeAgentic {
		if err := c.hasPlace(ctx, a.Queue); err != nil {
			return nil, err
		}
	}
	created, answered, err := inputs.Create(ctx, configMaps{c}, run, c.create)
	switch {
	case err != nil && !answered:
		return nil, fmt.Errorf("create a run in the namespace %s: %w. It may have been created: list the runs before you try again", c.namespace, err)
	case err != nil:
		return nil, c.refused("create a run in the namespace "+c.namespace, err, roleEditor)
	case created.Run.Spec.Mode != v1alpha1.ModeOneshot:
		return &Acted{Run: created.Run.Name, FilesUnowned: unowned(&created)}, nil
	}
	ended, err := c.Wait(ctx, created.Run.Name, false)
	if err != nil {
		return nil, fmt.Errorf("wait for the result of the run %s: %w. It goes on: ask for its status later", created.Run.Name, err)
	}
	result, err := oneshotResult(ended)
	if err != nil {
		return nil, err
	}
	return &Acted{Run: ended.Name, Oneshot: result}, nil
}

const roleEditor = "motorcortex-editor"

// run is the object that asks for the task.
func (a *Act) run(namespace string) (*v1alpha1.MotorRun, error) {
	run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{GenerateName: "run-", Namespace: namespace}, Spec: v1alpha1.MotorRunSpec{
		Mode: a.Mode, Domains: a.Domains,
	}}
	if strings.TrimSpace(a.Task) == "" {
		return nil, errors.New("the task is empty")
	}
	switch a.Mode {
	case v1alpha1.ModeOneshot:
		return run, a.oneshot(&run.Spec)
	case v1alpha1.ModeAgentic, "":
		run.Spec.Mode = v1alpha1.ModeAgentic
		return run, a.agentic(&run.Spec)
	case v1alpha1.ModeInstall:
	}
	return nil, fmt.Errorf("the mode %q is none of %s and %s", a.Mode, v1alpha1.ModeAgentic, v1alpha1.ModeOneshot)
}

func (a *Act) oneshot(spec *v1alpha1.MotorRunSpec) error {
	if a.Skill != "" || len(a.Tools)+len(a.Credentials)+len(a.Files)+len(a.Inputs) > 0 || a.ApprovalRequired || a.MaxIterations != 0 || a.SkillReview {
		return errors.New("a Oneshot has a program, domains and a timeout, and nothing else")
	}
	language := a.Language
	if language == "" {
		language = "javascript"
	}
	if a.Timeout != 0 && (a.Timeout < time.Millisecond || a.Timeout > time.Minute) {
		return fmt.Errorf("the timeout %s of a Oneshot is not 100ms to 5s, or to 30s with domains", a.Timeout)
	}
	spec.Code = &v1alpha1.Code{Language: language, Source: a.Task, TimeoutMilliseconds: int32(a.Timeout.Milliseconds())}
	return nil
}

func (a *Act) agentic(spec *v1alpha1.MotorRunSpec) error {
	if a.Language != "" {
		return errors.New("the language goes with a Oneshot")
	}
	if (len(a.Inputs) > 0 || a.SkillReview) && a.Skill == "" {
		return errors.New("inputs and a review go with a skill: name it")
	}
	if a.Timeout != 0 && (a.Timeout < time.Second || a.Timeout > 24*time.Hour) {
		return fmt.Errorf("the timeout %s of an Agentic run is not 1s to 24h", a.Timeout)
	}
	spec.Task, spec.Tools, spec.Credentials, spec.Files, spec.SkillReview = a.Task, a.Tools, a.Credentials, a.Files, a.SkillReview
	spec.Limits = v1alpha1.RunLimits{MaxIterations: a.MaxIterations, ActiveDeadlineSeconds: int32(a.Timeout / time.Second)}
	if a.Skill != "" {
		spec.SkillRef = &v1alpha1.SkillRef{Name: a.Skill}
	}
	for _, name := range slices.Sorted(maps.Keys(a.Inputs)) {
		spec.Inputs = append(spec.Inputs, v1alpha1.RunInput{Name: name, Value: a.Inputs[name]})
	}
	if a.ApprovalRequired {
		spec.Approval = &v1alpha1.RunApproval{Required: v1alpha1.ApprovalIrreversible}
	}
	return nil
}

// oneshotResult reads the result of a Oneshot that has ended. One that never ran has no value.
func oneshotResult(run *v1alpha1.MotorRun) (*OneshotResult, error) {
	result := &OneshotResult{}
	if r := run.Status.Result; r != nil && r.Value != "" {
		if err := json.Unmarshal([]byte(r.Value), result); err != nil {
			return nil, fmt.Errorf("the result of the run %s cannot be read: %w", run.Name, err)
		}
		return result, nil
	}
	result.Error = &OneshotError{Code: run.Status.Reason, Message: run.Status.Message}
	return result, nil
}

// BusyError is of an Act for which the namespace has no place.
type BusyError struct {
	Namespace string
	// Runs hold the places, or wait for one before this: the oldest first.
	Runs []string
}

// Error says what to do.
func (e *BusyError) Error() string {
	return fmt.Sprintf("Motor Cortex is busy in the namespace %s (run %s): wait until it has ended, cancel it, or queue", e.Namespace, strings.Join(e.Runs, ", "))
}

// maxBusy is the most runs that a BusyError names.
const maxBusy = 8

// hasPlace returns a BusyError if the MotorCortex of the namespace has no place for a run now. queue accepts to wait for one, where the MotorCortex
// lets runs wait.
func (c *Client) hasPlace(ctx context.Context, queue bool) error {
	cortex, err := c.clients.Motor.MotorCortexV1alpha1().MotorCortices(c.namespace).Get(ctx, v1alpha1.CortexName, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		// Without one there is no bound. What an account may not read, the operator decides by.
		return nil
	case err != nil:
		return fmt.Errorf("get the MotorCortex of the namespace %s: %w", c.namespace, err)
	case cortex.Spec.Concurrency == nil, queue && cortex.Spec.Concurrency.WhenBusy != v1alpha1.BusyReject:
		return nil
	}
	taken, err := c.taken(ctx)
	if err != nil || len(taken) < int(max(cortex.Spec.Concurrency.MaxActive, 1)) {
		return err
	}
	return &BusyError{Namespace: c.namespace, Runs: taken[:min(len(taken), maxBusy)]}
}

// taken returns the runs that have a place or take the next ones, the oldest first.
func (c *Client) taken(ctx context.Context) ([]string, error) {
	var all []v1alpha1.MotorRun
	err := c.eachRun(ctx, "", func(run *v1alpha1.MotorRun) {
		if takesPlace(run) {
			all = append(all, v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Name: run.Name, CreationTimestamp: run.CreationTimestamp}})
		}
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, func(a, b v1alpha1.MotorRun) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	names := make([]string, 0, len(all))
	for i := range all {
		names = append(names, all[i].Name)
	}
	return names, nil
}

// takesPlace reports whether a run has a place, or takes one when the operator looks at it.
func takesPlace(run *v1alpha1.MotorRun) bool {
	if run.Spec.Mode == v1alpha1.ModeOneshot || run.Spec.Mode == v1alpha1.ModeInstall || run.DeletionTimestamp != nil || run.Status.CompletionTime != nil {
		return false
	}
	if apimeta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionAccepted) {
		return true
	}
	return !run.Spec.Suspend && !run.Spec.Cancel && run.Spec.Origin != v1alpha1.OriginCopied
}
