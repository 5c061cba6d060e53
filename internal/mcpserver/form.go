// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/pkg/client/motor"
)

const (
	// maxForm is the most bytes of an ask that a form shows, and maxRow of a row of it.
	maxForm, maxRow = 32 << 10, 1 << 10
	// maxWords and maxReason are the most characters that a person writes.
	maxWords, maxReason = 16384, 2048
)

// form has a person decide about an ask.
type form struct {
	run *motor.Details
	ask *motor.AskDetails
	// proposed is the answer that the program passes on, "" if it has none.
	proposed string
	// retry is the retry that the program asks for, nil if it asks for none.
	retry   *motor.ProposedRetry
	choices []choice
	message string
}

// choice is a decision that a form offers.
type choice struct {
	label  string
	decide motor.Decide
	// retry is another attempt, nil for a choice that is of core_decide.
	retry *motor.ProposedRetry
}

// errLongForm is of an ask of which a person would see a part.
var errLongForm = fmt.Errorf("the ask has more than the %d bytes that a form shows: have the person answer it with kubectl motor, or on the page", maxForm)

// newForm returns the form for an ask. A call that it cannot show whole is only denied by it, and any other ask has none then.
func newForm(run *motor.Details, ask *motor.AskDetails, proposed motor.ProposedDecision) (*form, error) {
	f := &form{run: run, ask: ask, choices: choicesOf(ask), retry: proposed.Retry}
	switch {
	case f.retry != nil:
		f.choices = retriesOf(*f.retry)
	case ask.Kind == v1alpha1.InputQuestion:
		f.proposed = proposed.Answer
		if len(proposed.Files) > 0 {
			return nil, errors.New("a form shows no files: have the person answer with kubectl motor, or on the page")
		}
	case len(f.choices) == 0:
		return nil, fmt.Errorf("a form cannot answer an ask of the kind %s: use %s", ask.Kind, ask.AnswerWith)
	}
	whole := ask.Action == nil || !ask.Action.Shortened
	if f.message = f.shows(whole); whole && len(f.message) <= maxForm {
		return f, nil
	}
	if ask.Kind != v1alpha1.InputApproval {
		return nil, errLongForm
	}
	f.choices = f.choices[len(f.choices)-1:] // The last one denies.
	f.message = f.shows(false)
	if len(f.message) > maxForm {
		return nil, errLongForm
	}
	return f, nil
}

// choicesOf are the decisions about an ask. The last one about a call or a domain denies it.
func choicesOf(ask *motor.AskDetails) []choice {
	deny := choice{label: "deny", decide: motor.Decide{Action: motor.DecideDeny}}
	switch ask.Kind {
	case v1alpha1.InputApproval:
		if ask.Action == nil {
			return nil
		}
		digest := ask.Action.ArgsDigest
		all := []choice{{label: "approve once", decide: motor.Decide{Action: motor.DecideApprove, Digest: digest}}}
		if ask.Action.Rule != "" {
			all = append(all, choice{
				label: "approve all calls by this rule until the run ends", decide: motor.Decide{Action: motor.DecideApprove, Digest: digest, WholeRun: true},
			})
		}
		deny.decide.Digest = digest
		return append(all, deny)
	case v1alpha1.InputDomainRequest:
		return []choice{
			{label: "allow once", decide: motor.Decide{Action: motor.DecideAllow}},
			{label: "allow until the run ends", decide: motor.Decide{Action: motor.DecideAllow, WholeRun: true}}, deny,
		}
	case v1alpha1.InputOutcomeUnknown:
		return []choice{
			{label: "make the call again", decide: motor.Decide{Action: motor.DecideSettle, Outcome: v1alpha1.DecisionRetry}},
			{label: "it is done", decide: motor.Decide{Action: motor.DecideSettle, Outcome: v1alpha1.DecisionDone}},
			{label: "go on without it", decide: motor.Decide{Action: motor.DecideSettle, Outcome: v1alpha1.DecisionSkip}},
		}
	case v1alpha1.InputQuestion, v1alpha1.InputRetry, v1alpha1.InputBudgetExhausted:
	}
	return nil
}

// retriesOf are the decisions about a retry with further domains. A program makes one without them by itself.
func retriesOf(r motor.ProposedRetry) []choice {
	return []choice{{label: "try again with these domains", retry: &r}, {label: "try again without them", retry: &motor.ProposedRetry{Guidance: r.Guidance}}}
}

// shows is the message of the form. Without the arguments it says how much is left out.
func (f *form) shows(arguments bool) string {
	rows := []string{fmt.Sprintf("The run %s asks (%s, %s).", f.run.ID, f.ask.Kind, f.ask.ID), text.RowsMean}
	add := func(label, value string) {
		if value != "" {
			rows = append(append(rows, label+":"), text.Rows(value, maxRow)...)
		}
	}
	add("Question", f.ask.Question)
	for i, o := range f.ask.Options {
		add(fmt.Sprintf("Option %d", i+1), o)
	}
	add("Files that are asked for", strings.Join(f.ask.Files, "\n"))
	add("Domain", string(f.ask.Domain))
	if r := f.retry; r != nil {
		add("The program asks to try again, with this guidance", r.Guidance)
		add("The run can reach these domains too then", inRows(r.Domains))
	}
	add("It is for", f.run.Requester)
	if arguments { // A person who can only deny decides about nothing that these are for.
		add("The run reaches", inRows(f.run.Domains))
		add("It has the credentials", inRows(f.run.Credentials))
	}
	if call := f.ask.Action; call != nil {
		add("Tool", call.Tool)
		if arguments {
			add("Arguments", call.Arguments)
		} else {
			rows = append(rows, fmt.Sprintf("Arguments: they are not shown (%d bytes or more). You can deny the call here. To approve it, look at it with kubectl motor, or on the page.",
				len(call.Arguments)))
		}
		if call.Check {
			rows = append(rows, "It is a command by which the run's success is checked.")
		}
		add("Why it needs approval", call.Reason)
		add("Rule", call.Rule)
		rows = append(rows, "Digest: "+text.Printable(call.ArgsDigest))
	}
	add("Without an answer it goes on with", f.ask.Default)
	add("The program passes on this answer. Leave yours empty to send it", f.proposed)
	return strings.Join(append(rows, "What you decide is sent under the name of the account that the program has."), "\n")
}

// inRows has a name in each row. Their order means nothing, so it must not make another form of the same one.
func inRows[S ~string](names []S) string {
	var rows []string
	for _, name := range names {
		rows = append(rows, string(name))
	}
	slices.Sort(rows)
	return strings.Join(rows, "\n")
}

// params are what the SDK sends to the program.
func (f *form) params() *mcp.ElicitParams {
	properties, required := map[string]any{}, []string{}
	if f.ask.Kind == v1alpha1.InputQuestion {
		properties["answer"] = map[string]any{"type": "string", "title": "Answer", "maxLength": maxWords}
		if n := len(f.ask.Options); n > 0 {
			var numbers []string
			for i := range n {
				numbers = append(numbers, strconv.Itoa(i+1))
			}
			properties["option"] = map[string]any{"type": "string", "title": "Option", "description": "Number of an option, instead of an answer in words", "enum": numbers}
		} else if f.proposed == "" {
			required = append(required, "answer")
		}
	} else {
		var labels []string
		for _, c := range f.choices {
			labels = append(labels, c.label)
		}
		properties["decision"] = map[string]any{"type": "string", "title": "Decision", "enum": labels}
		required = append(required, "decision")
	}
	if f.ask.Kind != v1alpha1.InputQuestion && f.retry == nil {
		properties["reason"] = map[string]any{"type": "string", "title": "Reason", "description": "The run's model is told it", "maxLength": maxReason}
	}
	return &mcp.ElicitParams{Message: f.message, RequestedSchema: map[string]any{"type": "object", "properties": properties, "required": required}}
}

// tool is the one that carries out what the person chose.
func (f *form) tool() string {
	if f.retry != nil {
		return motor.ToolTask
	}
	return motor.ToolDecide
}

// decided returns the arguments of the form's tool for what the person chose.
func (f *form) decided(content map[string]any) (json.RawMessage, error) {
	said := func(name string) string {
		s, _ := content[name].(string)
		return s
	}
	d := motor.Decide{Action: motor.DecideAnswer}
	if f.ask.Kind == v1alpha1.InputQuestion {
		option, err := strconv.Atoi(said("option"))
		switch answer := said("answer"); {
		case err == nil && answer != "":
			return nil, errors.New("the person chose an option, and wrote an answer too: nothing was sent")
		case err == nil && (option < 1 || option > len(f.ask.Options)):
			return nil, errors.New("the person chose an option that is not offered: nothing was sent")
		case err == nil:
			d.Answer = f.ask.Options[option-1]
		case answer != "":
			d.Answer = answer
		case f.proposed != "":
			d.Answer = f.proposed
		default:
			return nil, errors.New("the person gave no answer: nothing was sent")
		}
	} else {
		found := false
		for _, c := range f.choices {
			if c.label != said("decision") {
				continue
			}
			if c.retry != nil {
				return motor.RetryArguments(motor.Ref{Run: f.run.ID, UID: f.run.UID, ID: f.ask.ID}, *c.retry)
			}
			d, found = c.decide, true
		}
		if !found {
			return nil, errors.New("the person chose nothing that is offered: nothing was sent")
		}
		if d.Outcome != v1alpha1.DecisionRetry {
			d.Reason = said("reason")
		}
	}
	d.Run, d.UID, d.AskID = f.run.ID, f.run.UID, f.ask.ID
	return json.Marshal(d)
}
