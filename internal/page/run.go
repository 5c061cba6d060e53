// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"slices"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/budget"
	"motorcortex.dev/motorcortex/internal/cli/rights"
	"motorcortex.dev/motorcortex/internal/cli/show"
	"motorcortex.dev/motorcortex/internal/pending"
)

// runsPage is how many runs a list has at once.
const runsPage = 500

// runState is how a run stands, in a word that the page filters by.
type runState string

const (
	stateWaiting   runState = "waiting"
	stateRunning   runState = "running"
	stateSuspended runState = "suspended"
	stateSucceeded runState = "succeeded"
	stateFailed    runState = "failed"
)

func stateOf(run *v1alpha1.MotorRun) runState {
	switch {
	case run.Status.CompletionTime != nil && apimeta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionSucceeded):
		return stateSucceeded
	case run.Status.CompletionTime != nil:
		return stateFailed
	case len(pending.Open(run)) > 0:
		return stateWaiting
	case run.Spec.Suspend:
		return stateSuspended
	}
	return stateRunning
}

// runLine is a run in a list.
type runLine struct {
	Namespace string       `json:"namespace"`
	Name      string       `json:"name"`
	UID       string       `json:"uid"`
	State     runState     `json:"state"`
	Phase     string       `json:"phase"`
	Reason    string       `json:"reason,omitempty"`
	WaitsFor  string       `json:"waitsFor,omitempty"`
	Task      string       `json:"task,omitempty"`
	Skill     string       `json:"skill,omitempty"`
	Requester string       `json:"requester,omitempty"`
	Steps     int32        `json:"steps"`
	Tokens    int64        `json:"tokens"`
	Cost      string       `json:"cost,omitempty"`
	Created   metav1.Time  `json:"created"`
	Completed *metav1.Time `json:"completed,omitempty"`
}

func lineOf(run *v1alpha1.MotorRun) runLine {
	st := &run.Status
	l := runLine{
		Namespace: run.Namespace, Name: run.Name, UID: string(run.UID), State: stateOf(run), Phase: string(st.Phase), Reason: show.Text(st.Reason),
		Task: show.Line(run.Spec.Task, maxBrief), Steps: st.Steps, Tokens: st.Usage.TotalTokens, Created: run.CreationTimestamp, Completed: st.CompletionTime,
		Cost: show.Text(budget.Cost(st.Usage.Cost, st.Usage.Currency)),
	}
	if run.Spec.SkillRef != nil {
		l.Skill = run.Spec.SkillRef.Name
	}
	if run.Spec.Requester != nil {
		l.Requester = show.Text(run.Spec.Requester.Username)
	}
	var asks []string
	for _, p := range pending.Open(run) {
		asks = append(asks, pending.Word(p.Kind)+": "+p.Title)
	}
	l.WaitsFor = show.Line(strings.Join(asks, "; "), maxBrief)
	return l
}

// runs lists the runs of a namespace, or of all, a page at a time.
func runs(ctx context.Context, q *query) (any, error) {
	list := &v1alpha1.MotorRunList{}
	err := q.Client.List(ctx, list, client.InNamespace(q.namespace()), client.Limit(runsPage), client.Continue(q.URL.Query().Get("continue")))
	if err != nil {
		return nil, err
	}
	lines := make([]runLine, 0, len(list.Items))
	for i := range list.Items {
		lines = append(lines, lineOf(&list.Items[i]))
	}
	slices.SortStableFunc(lines, func(a, b runLine) int { return b.Created.Compare(a.Created.Time) })
	return map[string]any{"items": lines, "continue": list.Continue, "now": q.now}, nil
}

// runView is a run as a page shows it.
type runView struct {
	runLine

	Message     string         `json:"message,omitempty"`
	WholeTask   string         `json:"wholeTask,omitempty"`
	Model       string         `json:"model,omitempty"`
	Tools       []string       `json:"tools,omitempty"`
	Domains     []string       `json:"domains,omitempty"`
	Credentials []string       `json:"credentials,omitempty"`
	Asks        []askView      `json:"asks"`
	Attempts    []*attemptView `json:"attempts"`
	Result      *resultView    `json:"result,omitempty"`
	// Note says why steps are missing.
	Note string `json:"note,omitempty"`
}

// resultView is what a run came to.
type resultView struct {
	OK        bool           `json:"ok"`
	Summary   string         `json:"summary,omitempty"`
	Partial   string         `json:"partial,omitempty"`
	Value     string         `json:"value,omitempty"`
	Artifacts []artifactView `json:"artifacts,omitempty"`
}

type artifactView struct {
	Path  string `json:"path"`
	Size  int64  `json:"size"`
	Where string `json:"where"`
}

// run shows one run with its timeline.
func run(ctx context.Context, q *query) (any, error) {
	r := &v1alpha1.MotorRun{}
	if err := q.Client.Get(ctx, q.key(), r); err != nil {
		return nil, err
	}
	v := &runView{
		runLine: lineOf(r), Message: show.Text(r.Status.Message), WholeTask: show.Text(r.Spec.Task), Model: show.Text(r.Status.Model), Tools: texts(r.Spec.Tools),
		Result: resultOf(r.Status.Result),
	}
	if e := r.Status.Egress; e != nil {
		v.Domains, v.Credentials = texts(e.Domains), texts(e.Credentials)
	}
	var err error
	if v.Asks, err = asksOf(ctx, q, rights.Of(q.Client), r); err != nil {
		return nil, err
	}
	v.Attempts, v.Note = timeline(ctx, q, r)
	return map[string]any{"run": v, "now": q.now}, nil
}

func resultOf(r *v1alpha1.RunResult) *resultView {
	if r == nil {
		return nil
	}
	v := &resultView{OK: r.OK, Summary: show.Text(r.Summary), Partial: show.Text(r.Partial), Value: show.Text(r.Value)}
	for _, a := range r.Artifacts {
		where := "ConfigMap " + a.ConfigMapName
		switch {
		case a.Skipped != "":
			where = "not kept: " + string(a.Skipped) + ". " + a.Message
		case a.ObjectKey != "":
			where = "bucket " + a.ObjectKey
		}
		v.Artifacts = append(v.Artifacts, artifactView{show.Text(a.Path), a.Size, show.Text(where)})
	}
	return v
}
