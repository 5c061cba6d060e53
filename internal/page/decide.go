// SPDX-License-Identifier: Apache-2.0

package page

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/reply"
	"motorcortex.dev/motorcortex/internal/cli/show"
	"motorcortex.dev/motorcortex/pkg/client/motor/asks"
)

// choice is one decision that an ask offers.
type choice struct {
	Decision v1alpha1.Decision `json:"decision"`
	Label    string            `json:"label"`
	// Effect says what is allowed afterwards.
	Effect string `json:"effect"`
	// Words is the text that goes with it: "reason", "guidance" or "".
	Words asks.Words `json:"words,omitempty"`
	// Domains says that hosts may be added.
	Domains bool `json:"domains,omitempty"`
}

// maxBrief is the most bytes of a name in a sentence.
const maxBrief = 160

// choicesOf are the decisions that an ask offers. A question is answered with words, and an ask of a later operator with nothing.
func choicesOf(a *reply.Ask) []choice {
	all := []choice{}
	for _, c := range asks.Choices(a.PendingInput) {
		if c.Decision == "" {
			continue
		}
		label, effect := consequence(a, c.Decision)
		all = append(all, choice{c.Decision, label, effect, c.Words, c.Domains})
	}
	return all
}

// consequence says what a decision does.
func consequence(a *reply.Ask, d v1alpha1.Decision) (label, effect string) {
	name, domain := show.Line(a.Run.Name, maxBrief), show.Line(string(a.Domain), maxBrief)
	switch d {
	case v1alpha1.DecisionApproveOnce:
		return "Approve once", "This call is made, once. The next one is asked about again."
	case v1alpha1.DecisionApproveRun:
		// The tool and the rule are shown beside it. Their words are of others, and these are the server's.
		return "Approve for the run", "This call is made, and until " + name + " ends every call of the same tool that needs approval by the same rule, without asking you."
	case v1alpha1.DecisionAllowOnce:
		return "Allow once", "The next call that can use the network may reach " + domain + ". Later ones may not."
	case v1alpha1.DecisionAllowRun:
		return "Allow for the run", "Every call of " + name + " may reach " + domain + " until the run ends."
	case v1alpha1.DecisionDeny:
		if a.Kind == v1alpha1.InputApproval {
			return "Deny", "The call is not made, and the run goes on. The model reads your reason."
		}
		return "Deny", "The run reaches what it reached before, and goes on. The model is told not to ask again."
	case v1alpha1.DecisionRetry:
		if a.Kind == v1alpha1.InputRetry {
			return "Try again", "Another attempt begins with the files that are there. The model reads your guidance."
		}
		return "Make the call again", "The call is made once more. If the first one had an effect, it has it twice."
	case v1alpha1.DecisionDone:
		return "It is done", "The run goes on as if the call had succeeded. Its output is lost."
	case v1alpha1.DecisionSkip:
		return "Go on without it", "The model is told that the call may or may not have had an effect."
	case v1alpha1.DecisionRaise:
		return "Raise by " + asks.AmountText(a.RaiseBy), "The bound is raised by that, and the run goes on where it is. A bound of a day or a month is raised for all runs."
	case v1alpha1.DecisionStop:
		return "Stop", "The run ends as failed. The end has your reason."
	}
	return string(d), ""
}

// decided is what a person sends.
type decided struct {
	UID  string `json:"uid"`
	Seen string `json:"seen"`
	// Answer is words, or Option the number of an option, counted from 1.
	Answer   string            `json:"answer"`
	Option   int               `json:"option"`
	Files    []sentFile        `json:"files"`
	Decision v1alpha1.Decision `json:"decision"`
	Digest   string            `json:"digest"`
	Reason   string            `json:"reason"`
	Guidance string            `json:"guidance"`
	Domains  []v1alpha1.Domain `json:"domains"`
}

// sentFile is a file that a person adds to an answer.
type sentFile struct {
	Path    string `json:"path"`
	Content []byte `json:"content"`
}

// decide sends the run what a person decided about what they were shown.
func decide(ctx context.Context, q *query) (any, error) {
	var d decided
	if err := q.read(&d); err != nil {
		return nil, err
	}
	a, err := q.find(ctx, d.UID, d.Seen)
	if err != nil {
		return nil, err
	}
	r, err := d.response(ctx, a)
	if err != nil {
		return nil, err
	}
	if err := a.Send(ctx, *r); err != nil {
		return nil, notTaken(err)
	}
	said := string(r.Decision)
	if said == "" {
		said = show.Text(r.Answer)
	}
	return map[string]string{"sent": said}, nil
}

// notTaken is the error of an answer that a run did not take. It says in words already what happened.
func notTaken(err error) error {
	status := statusOf(err)
	if status == http.StatusBadGateway && !unreachable(err) && !errors.Is(err, context.DeadlineExceeded) {
		status = http.StatusConflict
	}
	return problem{status, err.Error()}
}

// response is the response to an ask, if the decision is one of those that it offers.
func (d *decided) response(ctx context.Context, a *reply.Ask) (*v1alpha1.Response, error) {
	if a.Kind == v1alpha1.InputQuestion {
		return d.answer(a)
	}
	offered := choicesOf(a)
	i := slices.IndexFunc(offered, func(c choice) bool { return c.Decision == d.Decision })
	switch {
	case i < 0:
		return nil, refused("%s does not offer the decision %q.", a.Run.Name, d.Decision)
	case d.Answer != "" || d.Option != 0 || len(d.Files) > 0:
		return nil, refused("It is no question: it takes a decision.")
	case d.Reason != "" && offered[i].Words != asks.Reason, d.Guidance != "" && offered[i].Words != asks.Guidance, len(d.Domains) > 0 && !offered[i].Domains:
		return nil, refused("The decision %s does not go with these words.", d.Decision)
	}
	r := asks.Choice{Decision: d.Decision, Words: offered[i].Words}.Response(a.PendingInput, cmp.Or(d.Reason, d.Guidance))
	r.AddDomains = d.Domains
	if a.Kind == v1alpha1.InputApproval {
		if d.Digest != a.Action.ArgsDigest {
			return nil, problem{http.StatusConflict, fmt.Sprintf("The call has the digest %s, and you were shown one with %s: nothing was sent.", a.Action.ArgsDigest, d.Digest)}
		}
		if _, err := a.Call(ctx); err != nil && d.Decision != v1alpha1.DecisionDeny {
			return nil, problem{http.StatusConflict, err.Error()}
		}
	}
	return &r, nil
}

// answer is the response to a question.
func (d *decided) answer(a *reply.Ask) (*v1alpha1.Response, error) {
	files, err := d.files()
	if err != nil {
		return nil, err
	}
	switch {
	case d.Decision != "" || d.Reason != "" || d.Guidance != "" || len(d.Domains) > 0:
		return nil, refused("A question takes an answer, and no decision.")
	case d.Option != 0 && d.Answer != "", d.Option == 0 && d.Answer == "" && len(files) == 0:
		return nil, refused("Write an answer, or choose an option.")
	case d.Option < 0 || d.Option > len(a.Options):
		return nil, refused("The question has %d options.", len(a.Options))
	case d.Option > 0:
		return &v1alpha1.Response{Answer: a.Options[d.Option-1], Files: files}, nil
	case d.Answer == "":
		return &v1alpha1.Response{Answer: reply.Here(files), Files: files}, nil
	case strings.TrimSpace(d.Answer) == "":
		return nil, refused("The answer is empty.")
	}
	return &v1alpha1.Response{Answer: d.Answer, Files: files}, nil
}

// files are those that go with the answer.
func (d *decided) files() ([]v1alpha1.ResponseFile, error) {
	var files []v1alpha1.ResponseFile
	for _, f := range d.Files {
		file, err := reply.File(f.Path, f.Content)
		if err != nil {
			return nil, refused("%s was not sent: %v.", show.Text(f.Path), err)
		}
		files = append(files, file)
	}
	if err := asks.CheckFiles(files); err != nil {
		return nil, refused("Nothing was sent: %v.", err)
	}
	return files, nil
}

func refused(format string, args ...any) error {
	return problem{http.StatusUnprocessableEntity, fmt.Sprintf(format, args...)}
}
