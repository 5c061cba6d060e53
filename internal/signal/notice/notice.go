// SPDX-License-Identifier: Apache-2.0

// Package notice words signals for people: as one message in JSON, or in Slack. It does no I/O.
package notice

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/pending"
	"motorcortex.dev/motorcortex/internal/signal"
	"motorcortex.dev/motorcortex/internal/text"
)

const (
	// maxTitle, maxText and maxAction are the most bytes of a message's parts. Slack takes 3000 characters, and a character of it can become five.
	maxTitle, maxText, maxAction = 256, 400, 200
)

// Notice is a message for people.
type Notice struct {
	// ID is that of the signal that the message is about. A receiver drops a message with an id that it has seen.
	ID string `json:"id"`
	// Event is that of the signal, as in RunAwaitingInput.
	Event     v1alpha1.SignalEvent `json:"event"`
	Namespace string               `json:"namespace"`
	// Name is that of the run or the skill. A digest has none.
	Name string `json:"name,omitempty"`
	// Title says in a few words what happened to which object.
	Title string `json:"title"`
	// Text is the question, the summary or the failure, in one line. A model can have written it.
	Text string `json:"text,omitempty"`
	// Action is the call that waits for approval, in short.
	Action string `json:"action,omitempty"`
	// Deadline is until when there is time for an answer.
	Deadline *time.Time `json:"deadline,omitempty"`
	// Command answers at a terminal, or shows more.
	Command string `json:"command,omitempty"`
	// Link leads to the run or the skill on the page, of a digest to all that waits.
	Link string    `json:"link,omitempty"`
	Time time.Time `json:"time"`
	// Reminder is true if the ask was told before, and its deadline is near.
	Reminder bool `json:"reminder,omitempty"`
	// Asks are those that a digest lists, and More is how many there are beside them.
	Asks []Notice `json:"asks,omitempty"`
	More int      `json:"more,omitempty"`

	// ask is that of the message, nil for none.
	ask *signal.Result
}

// Events returns the signals that a receiver of these events is told. It never returns none.
func Events(of []v1alpha1.NotificationEvent) []v1alpha1.SignalEvent {
	has := func(e v1alpha1.NotificationEvent) bool { return len(of) == 0 || slices.Contains(of, e) }
	var all []v1alpha1.SignalEvent
	if has(v1alpha1.NotifyAsks) {
		all = append(all, v1alpha1.SignalRunAwaitingInput)
	}
	if has(v1alpha1.NotifyEnds) {
		all = append(all, v1alpha1.SignalRunCompleted, v1alpha1.SignalRunCancelled)
	}
	if has(v1alpha1.NotifyEnds) || has(v1alpha1.NotifyFailures) {
		all = append(all, v1alpha1.SignalRunFailed)
	}
	if has(v1alpha1.NotifySkills) {
		all = append(all, v1alpha1.SignalSkillAwaitingApproval, v1alpha1.SignalSkillNeedsReapproval)
	}
	return all
}

// titles say what happened to a run or a skill.
var titles = map[v1alpha1.SignalEvent]string{
	v1alpha1.SignalRunAwaitingInput: "waits for an answer", v1alpha1.SignalRunCompleted: "succeeded", v1alpha1.SignalRunFailed: "failed",
	v1alpha1.SignalRunCancelled: "was cancelled", v1alpha1.SignalSkillAwaitingApproval: "waits for approval",
	v1alpha1.SignalSkillNeedsReapproval: "needs a new approval",
}

// Of returns the message about a signal. Nothing that a model wrote is in its title, its command or its link. pageURL is "" if there is no page.
func Of(s *signal.Signal, pageURL string) Notice {
	n := Notice{ID: s.ID, Event: s.Event, Name: s.Subject, Time: s.Time}
	kind := "Run"
	switch d := s.Data.(type) {
	case *signal.Result:
		n.Namespace = d.Namespace
		n.ofRun(d)
	case *signal.Digest:
		n.ofDigest(d, pageURL)
		return n
	case *signal.SkillData:
		kind, n.Namespace, n.Text = "Skill", d.Namespace, line(d.Description, maxText)
		n.Command = "kubectl motor skill review " + n.Name + " -n " + n.Namespace
	}
	what := cmp.Or(titles[s.Event], "changed")
	if n.Reminder {
		what = "still " + what
	}
	n.Title = text.CutBytes(kind+" "+n.Namespace+"/"+n.Name+" "+what, maxTitle)
	if pageURL != "" {
		n.Link = strings.TrimRight(pageURL, "/") + "/#/" + strings.ToLower(kind) + "s/" + url.PathEscape(n.Namespace) + "/" + url.PathEscape(n.Name)
	}
	return n
}

func (n *Notice) ofRun(d *signal.Result) {
	n.Command = "kubectl motor why " + n.Name + " -n " + n.Namespace
	switch {
	case d.Input != nil:
		n.ask, n.Reminder = d, d.Reminder
		n.Text, n.Deadline = line(d.Question, maxText), d.Input.ExpirationTime
		if d.Input.Tool != "" {
			n.Action = line(d.Input.Tool+" "+d.Input.Arguments, maxAction)
		}
		run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Namespace: n.Namespace, UID: types.UID(d.UID)}}
		n.Command = cmp.Or(pending.Exact(run, &v1alpha1.PendingInput{ID: d.Input.ID, Kind: d.Input.Kind}), n.Command)
	case d.Error != nil:
		n.Text = line(d.Error.Message, maxText)
	case d.Task != nil:
		n.Text = line(d.Task.Summary, maxText)
	}
}

func (n *Notice) ofDigest(d *signal.Digest, pageURL string) {
	n.Namespace = d.Namespace
	n.Title = fmt.Sprintf("%d asks in %s wait for an answer", d.Count, d.Namespace)
	for _, s := range d.Asks {
		n.Asks = append(n.Asks, Of(s, pageURL))
	}
	n.More = d.Count - len(n.Asks)
	n.Command = "kubectl motor inbox -n " + d.Namespace
	if pageURL != "" {
		n.Link = strings.TrimRight(pageURL, "/") + "/#/inbox"
	}
}

// brief is an ask of a digest in one line.
func (n *Notice) brief() string {
	s := n.Name + ": " + n.Text
	if n.Action != "" {
		s = n.Name + ": " + n.Action
	}
	if n.Deadline != nil {
		s += " (until " + n.Deadline.UTC().Format(time.RFC3339) + ")"
	}
	return s
}

// line returns the beginning of a text in one line, without what a terminal or a page would obey.
func line(s string, most int) string {
	return text.Line(text.Printable(s), most)
}

// JSON returns the message as webhooks get it.
func JSON(n Notice) ([]byte, error) { return json.Marshal(n) }
