// SPDX-License-Identifier: Apache-2.0

// Package pending says what runs wait for, and with which commands a person answers.
package pending

import (
	"fmt"
	"strings"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/pkg/client/motor/asks"
)

// Open returns the asks of a run that have no answer yet.
func Open(run *v1alpha1.MotorRun) []*v1alpha1.PendingInput { return asks.Open(run) }

// ResponseTo returns the response to an ask, nil if there is none.
func ResponseTo(run *v1alpha1.MotorRun, id string) *v1alpha1.Response {
	return asks.ResponseTo(run, id)
}

// Blank stands in commands for words that are the person's to find.
const Blank = "…"

// Word is what a run waits for, in a word for a column.
func Word(kind v1alpha1.InputKind) string {
	switch kind {
	case v1alpha1.InputQuestion:
		return "question"
	case v1alpha1.InputApproval:
		return "approval"
	case v1alpha1.InputDomainRequest:
		return "domain"
	case v1alpha1.InputOutcomeUnknown:
		return "unknown outcome"
	case v1alpha1.InputRetry:
		return "retry"
	case v1alpha1.InputBudgetExhausted:
		return "budget"
	}
	return strings.ToLower(string(kind))
}

// Command returns the command that shows an ask at a terminal and reads the answer. It names the namespace: the default one may have a run of the same
// name. where names the cluster; see cluster.Selected. Nothing that a model wrote is in commands: people paste them into a shell.
func Command(run *v1alpha1.MotorRun, p *v1alpha1.PendingInput, where string) string {
	return command(run, p, verbs[p.Kind], len(Open(run)) > 1, where, "")
}

// CommandBy is Command with another verb that answers such an ask, as deny an approval.
func CommandBy(run *v1alpha1.MotorRun, p *v1alpha1.PendingInput, verb, where string) string {
	return command(run, p, verb, len(Open(run)) > 1, where, "")
}

// Exact returns the command that answers one ask and no later one, "" for an ask of a kind that this version does not know.
func Exact(run *v1alpha1.MotorRun, p *v1alpha1.PendingInput) string {
	return command(run, p, verbs[p.Kind], true, "", "")
}

// Question is what an ask says, without the end by which internal/runpolicy tells how to answer with kubectl alone: it has no place beside Commands. The
// end is that of the operator, whatever a model wrote before it.
func Question(p *v1alpha1.PendingInput) string {
	end := ""
	switch p.Kind {
	case v1alpha1.InputRetry:
		end = "\nTo try again, decide Retry before "
	case v1alpha1.InputApproval:
		end = "\nstatus.pendingInputs[].stepName has it whole. Decide "
	case v1alpha1.InputQuestion, v1alpha1.InputDomainRequest, v1alpha1.InputOutcomeUnknown, v1alpha1.InputBudgetExhausted:
	}
	if i := strings.LastIndex(p.Question, end); end != "" && i >= 0 {
		return p.Question[:i]
	}
	return p.Question
}

// verbs answer asks of a kind.
var verbs = map[v1alpha1.InputKind]string{
	v1alpha1.InputQuestion: "answer", v1alpha1.InputApproval: "approve", v1alpha1.InputDomainRequest: "allow", v1alpha1.InputOutcomeUnknown: "settle", v1alpha1.InputRetry: "retry",
	v1alpha1.InputBudgetExhausted: "raise",
}

func command(run *v1alpha1.MotorRun, p *v1alpha1.PendingInput, verb string, id bool, where, more string) string {
	if verb == "" {
		return "" // A later operator asks what this plugin does not know.
	}
	s := "kubectl motor " + verb + " " + run.Name + " -n " + run.Namespace
	if id {
		s += " --id " + p.ID
		if (p.Kind == v1alpha1.InputRetry || p.Kind == v1alpha1.InputBudgetExhausted) && run.UID != "" {
			// A run of the same name that is created later asks under the same id. Those of other kinds are of their steps.
			s += " --uid " + string(run.UID)
		}
	}
	return s + where + more
}

// Commands returns commands that answer an ask without more questions, with Blank for words. They name the ask: by the time that one is pasted the run may
// ask for something else.
func Commands(run *v1alpha1.MotorRun, p *v1alpha1.PendingInput, where string) []string {
	var all []string
	add := func(verb, more string) { all = append(all, command(run, p, verb, true, where, more)) }
	switch p.Kind {
	case v1alpha1.InputQuestion:
		add("answer", ` "`+Blank+`"`)
		if len(p.Options) > 0 {
			add("answer", fmt.Sprintf(" --option 1…%d", len(p.Options)))
		}
	case v1alpha1.InputApproval:
		add("approve", "")
		add("deny", ` --reason "`+Blank+`"`)
	case v1alpha1.InputDomainRequest:
		add("allow", " --once")
		add("allow", " --run")
		add("deny", ` --reason "`+Blank+`"`)
	case v1alpha1.InputOutcomeUnknown:
		for _, decision := range []string{" retry", " done", " skip"} {
			add("settle", decision)
		}
	case v1alpha1.InputRetry:
		add("retry", ` --guidance "`+Blank+`"`)
		add("stop", "")
	case v1alpha1.InputBudgetExhausted:
		add("raise", raiseFlags(p.RaiseBy))
		add("stop", "")
	}
	return all
}

// raiseFlags are the flags of the amount that an ask for a raise proposes.
func raiseFlags(a *v1alpha1.BudgetAmount) string {
	var flags string
	if a != nil && a.Cost != nil {
		flags += " --cost " + string(*a.Cost)
	}
	if a != nil && a.Tokens != nil {
		flags += fmt.Sprintf(" --tokens %d", *a.Tokens)
	}
	return flags
}

// Verb is the verb on motorruns that an answer to such an ask needs, beside patch.
func Verb(kind v1alpha1.InputKind) string { return asks.Verb(kind) }
