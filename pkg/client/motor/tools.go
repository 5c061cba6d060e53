// SPDX-License-Identifier: Apache-2.0

package motor

import (
	"bytes"
	"context"
	_ "embed" // for the definitions
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
)

// Tool is the definition of a function, in the format of OpenAI's Chat Completions.
type Tool struct {
	Type     string   `json:"type"`
	Function Function `json:"function"`
}

// Function is what a model reads of a tool.
type Function struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// Parameters is the JSON schema of the arguments.
	Parameters json.RawMessage `json:"parameters"`
}

//go:embed tools.json
var definitions []byte

// Names of the tools.
const (
	ToolAct         = "core_act"
	ToolTask        = "core_task"
	ToolDecide      = "core_decide"
	ToolSkill       = "core_skill"
	ToolCredential  = "core_credential"
	ToolConsolidate = "core_consolidate"
)

// Tools returns the definitions of the tools that a Toolset carries out: core_act, core_task, core_decide, core_skill, core_credential
// and core_consolidate.
func Tools() []Tool {
	var tools []Tool
	_ = json.Unmarshal(definitions, &tools) // The definitions are a part of the program, and a test reads them.
	return tools
}

// maxArguments is the most bytes of the arguments of a call: a skill has 1 MiB of files.
const maxArguments = 2 << 20

// Toolset carries out the calls of a model.
type Toolset struct {
	Client *Client
	// Consent decides whether a person stands behind a call that only a person may decide about: an answer to what a run asks, a decision about a skill, a
	// credential. It is asked with the action "credentials" about a core_act that sends a value to hosts that the Secret's annotation does not name. It returns nil, or an error that the model reads. Without it no such call is carried out. The account needs the rights in any case.
	Consent func(ctx context.Context, tool, action string) error
}

// errNoConsent is the answer where nothing decides about consent.
var errNoConsent = errors.New("only a person decides that: this program has no way for a person to consent")

// Call carries out a call, and returns a value whose JSON is the result for the model. An error is for the model too: it says what to do. progress is told of
// events of the run that the call waits for; it can be nil.
func (t *Toolset) Call(ctx context.Context, tool string, arguments json.RawMessage, progress func(Event)) (any, error) {
	switch tool {
	case ToolAct:
		return do(arguments, func(a actArguments) (any, error) { return t.act(ctx, a) })
	case ToolTask:
		return do(arguments, func(a taskArguments) (any, error) { return t.task(ctx, a, progress) })
	case ToolDecide:
		return do(arguments, func(d Decide) (any, error) { return t.decide(ctx, d) })
	case ToolSkill:
		return do(arguments, func(a skillArguments) (any, error) { return t.skill(ctx, a) })
	case ToolCredential:
		return do(arguments, func(a credentialArguments) (any, error) { return t.credential(ctx, a) })
	case ToolConsolidate:
		return do(arguments, func(a consolidateArguments) (any, error) { return t.consolidate(ctx, a) })
	}
	return nil, fmt.Errorf("there is no tool %q", tool)
}

// do reads the arguments of a call, and carries it out.
func do[A any](arguments json.RawMessage, carryOut func(A) (any, error)) (any, error) {
	a, err := argumentsOf[A](arguments)
	if err != nil {
		return nil, err
	}
	return carryOut(a)
}

// argumentsOf returns the arguments of a call, or an error that says why they are not what the tool takes.
func argumentsOf[A any](arguments json.RawMessage) (a A, err error) {
	if len(arguments) > maxArguments {
		return a, fmt.Errorf("the arguments have %d bytes: at most %d are read", len(arguments), maxArguments)
	}
	if len(arguments) == 0 {
		return a, nil
	}
	if err := spelled(arguments, reflect.TypeFor[A]()); err != nil {
		return a, fmt.Errorf("the arguments are not what the tool takes: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(arguments))
	// A word that is not understood must not be passed over: it could be the one that restricts the call.
	d.DisallowUnknownFields()
	if err := d.Decode(&a); err != nil {
		return a, fmt.Errorf("the arguments are not what the tool takes: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return a, errors.New("the arguments are more than one JSON object")
	}
	return a, nil
}

func (t *Toolset) consent(ctx context.Context, tool, action string) error {
	if t.Consent == nil {
		return errNoConsent
	}
	return t.Consent(ctx, tool, action)
}

// missing is the error of a call without an argument that it needs.
func missing(action string, names ...string) error {
	return fmt.Errorf("%s needs %v", action, names)
}
