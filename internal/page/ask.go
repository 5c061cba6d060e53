// SPDX-License-Identifier: Apache-2.0

package page

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/lookup"
	"motorcortex.dev/motorcortex/internal/cli/reply"
	"motorcortex.dev/motorcortex/internal/cli/rights"
	"motorcortex.dev/motorcortex/internal/cli/show"
	"motorcortex.dev/motorcortex/internal/pending"
	"motorcortex.dev/motorcortex/pkg/client/motor/asks"
)

const (
	// maxAsks is how many asks the inbox shows at once.
	maxAsks = 200
	// maxCalls is the most bytes of the calls that it shows, but for those of one run: a call has up to a MiB.
	maxCalls = 8 << 20
)

// askView is an ask as a page shows it. Its texts are fit to be shown.
type askView struct {
	Namespace string             `json:"namespace"`
	Run       string             `json:"run"`
	UID       string             `json:"uid"`
	ID        string             `json:"id"`
	Kind      v1alpha1.InputKind `json:"kind"`
	Word      string             `json:"word"`
	// Seen stands for what the person sees: an answer names it, and counts only for that.
	Seen      string   `json:"seen"`
	Requester string   `json:"requester,omitempty"`
	Attempt   int32    `json:"attempt,omitempty"`
	Step      string   `json:"step,omitempty"`
	Question  string   `json:"question"`
	Options   []string `json:"options,omitempty"`
	Default   string   `json:"default,omitempty"`
	// Files are those that the model wants with the answer.
	Files  []string    `json:"files,omitempty"`
	Domain string      `json:"domain,omitempty"`
	Action *actionView `json:"action,omitempty"`
	// Reaches are the domains that the run reaches already, with the names of its Credentials.
	Reaches     []string     `json:"reaches,omitempty"`
	Credentials []string     `json:"credentials,omitempty"`
	Asked       *metav1.Time `json:"asked,omitempty"`
	Expires     *metav1.Time `json:"expires,omitempty"`
	OnTimeout   string       `json:"onTimeout,omitempty"`
	Choices     []choice     `json:"choices"`
	// May reports whether the person may answer. Otherwise Role is the ClusterRole that has the right.
	May  bool   `json:"may"`
	Role string `json:"role,omitempty"`
}

// actionView is a call that waits for approval.
type actionView struct {
	Tool   string     `json:"tool"`
	Parts  []partView `json:"parts"`
	Size   string     `json:"size,omitempty"`
	Digest string     `json:"digest"`
	Reason string     `json:"reason,omitempty"`
	Rule   string     `json:"rule,omitempty"`
	Check  bool       `json:"check,omitempty"`
	// Problem is why the call cannot be shown whole, and so not be approved.
	Problem string `json:"problem,omitempty"`
}

// partView is a part of a call.
type partView struct {
	Name string `json:"name,omitempty"`
	Text string `json:"text"`
	Diff bool   `json:"diff,omitempty"`
	Raw  bool   `json:"raw,omitempty"`
	End  string `json:"end,omitempty"`
}

func partsOf(tool, arguments string) []partView {
	parts := show.Parts(tool, arguments)
	views := make([]partView, 0, len(parts))
	for _, p := range parts {
		v := partView{Name: show.Text(p.Name), Text: show.Text(p.Text), Diff: p.Diff, Raw: p.Raw}
		if !p.Diff && !p.Raw {
			v.End = strings.TrimSpace(show.End(p.Text))
		}
		views = append(views, v)
	}
	return views
}

// inbox lists what runs ask, the oldest deadline first.
func inbox(ctx context.Context, q *query) (any, error) {
	list, left, err := lookup.WaitingWithin(ctx, q.Client, q.namespace(), q.bounds.Inbox)
	if err != nil {
		return nil, err
	}
	// Beyond the bound, those of a namespace are left out that have the most time.
	slices.SortStableFunc(list, func(a, b v1alpha1.MotorRun) int { return compareDeadlines(deadline(&a), deadline(&b)) })
	found := []askView{}
	mine, more, size := rights.Of(q.Client), 0, 0
	for _, run := range fair(list) {
		open := pending.Open(run)
		if len(found) >= maxAsks || size >= maxCalls {
			more += len(open)
			continue
		}
		views, err := asksOf(ctx, q, mine, run)
		if err != nil {
			return nil, err
		}
		found = append(found, views...)
		size += sizeOf(views)
	}
	slices.SortStableFunc(found, func(a, b askView) int {
		return cmp.Or(compareDeadlines(a.Expires, b.Expires), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Run, b.Run))
	})
	return map[string]any{"items": found, "more": more, "left": left, "now": q.now}, nil
}

// sizeOf counts the bytes of the calls that wait for approval.
func sizeOf(views []askView) (size int) {
	for i := range views {
		if a := views[i].Action; a != nil {
			for _, p := range a.Parts {
				size += len(p.Text)
			}
		}
	}
	return size
}

// fair returns the runs in turns: the first run of each namespace, then the second of each. Within a turn they keep their order. Without it, a namespace
// with very many asks that end soon would keep those of all others out of the inbox.
func fair(runs []v1alpha1.MotorRun) []*v1alpha1.MotorRun {
	var turns [][]*v1alpha1.MotorRun
	had := map[string]int{}
	for i := range runs {
		turn := had[runs[i].Namespace]
		if turn == len(turns) {
			turns = append(turns, nil)
		}
		turns[turn] = append(turns[turn], &runs[i])
		had[runs[i].Namespace]++
	}
	return slices.Concat(turns...)
}

// deadline is the first of a run's asks, nil if they have none.
func deadline(run *v1alpha1.MotorRun) *metav1.Time {
	var first *metav1.Time
	for _, p := range pending.Open(run) {
		if t := instant(p.ExpirationTime); compareDeadlines(t, first) < 0 {
			first = t
		}
	}
	return first
}

// compareDeadlines puts what expires first before, and what does not expire last.
func compareDeadlines(a, b *metav1.Time) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	return a.Compare(b.Time)
}

// asksOf shows what a run asks.
func asksOf(ctx context.Context, q *query, mine *rights.Rights, run *v1alpha1.MotorRun) ([]askView, error) {
	views := []askView{}
	for _, p := range pending.Open(run) {
		may, err := mine.Answer(ctx, run, p.Kind)
		if err != nil {
			return nil, err
		}
		views = append(views, viewOf(ctx, &reply.Ask{Client: q.Client, Run: run, PendingInput: p}, may))
	}
	return views, nil
}

func viewOf(ctx context.Context, a *reply.Ask, may bool) askView {
	v := askView{
		Namespace: a.Run.Namespace, Run: a.Run.Name, UID: string(a.Run.UID), ID: a.ID, Kind: a.Kind, Word: pending.Word(a.Kind), Seen: seen(a.Run, a.PendingInput),
		Step: a.StepName, Question: show.Text(a.Question), Domain: show.Text(string(a.Domain)), OnTimeout: string(a.OnTimeout),
		Choices: choicesOf(a), May: may,
	}
	if v.Question == "" {
		v.Question = show.Text(a.Title)
	}
	if r := a.Run.Spec.Requester; r != nil {
		v.Requester = show.Text(r.Username)
	}
	if a.Attempt != nil {
		v.Attempt = *a.Attempt
	}
	if a.Kind == v1alpha1.InputQuestion {
		v.Options, v.Default, v.Files = texts(a.Options), show.Text(a.Default), texts(a.Files)
	}
	if e := a.Run.Status.Egress; e != nil {
		v.Reaches, v.Credentials = texts(e.Domains), texts(e.Credentials)
	}
	v.Asked, v.Expires = instant(a.AskTime), instant(a.ExpirationTime)
	if !may {
		v.Role = asks.Role(a.Kind)
	}
	if a.Kind == v1alpha1.InputApproval {
		v.Action = actionOf(ctx, a)
	}
	return v
}

func actionOf(ctx context.Context, a *reply.Ask) *actionView {
	arguments, err := a.Call(ctx)
	if a.Action == nil {
		return &actionView{Problem: words(err)}
	}
	v := &actionView{
		Tool: show.Text(a.Action.Tool), Digest: show.Text(a.Action.ArgsDigest), Reason: show.Text(a.Action.Reason), Rule: show.Text(a.Action.Rule), Check: a.Action.Check,
	}
	if err != nil {
		// A part of a call is shown as such, for a person who wants to deny it.
		v.Problem, v.Parts = words(err), []partView{{Text: show.Text(a.Action.Arguments), Raw: true}}
		return v
	}
	v.Parts, v.Size = partsOf(a.Action.Tool, arguments), show.Size(arguments)
	return v
}

// seen is a digest of everything that a person decides about: of the ask, and of the run that goes on with the answer. Deadlines are not of it, as
// they move while a person writes.
func seen(run *v1alpha1.MotorRun, p *v1alpha1.PendingInput) string {
	shown := struct {
		Ask                  v1alpha1.PendingInput
		Requester            *v1alpha1.Requester
		Domains, Credentials []string
	}{
		Ask: v1alpha1.PendingInput{
			ID: p.ID, Kind: p.Kind, Title: p.Title, Question: p.Question, Options: p.Options, Files: p.Files, Domain: p.Domain, Action: p.Action, Default: p.Default, Attempt: p.Attempt,
			OnTimeout: p.OnTimeout,
		},
		Requester: run.Spec.Requester,
	}
	if e := run.Status.Egress; e != nil {
		// Their order means nothing.
		for _, d := range e.Domains {
			shown.Domains = append(shown.Domains, string(d))
		}
		slices.Sort(shown.Domains)
		shown.Credentials = slices.Sorted(slices.Values(e.Credentials))
	}
	b, err := json.Marshal(shown)
	if err != nil {
		return "" // Strings and numbers have a JSON form.
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func texts[T ~string](list []T) []string {
	all := make([]string, 0, len(list))
	for _, s := range list {
		all = append(all, show.Text(string(s)))
	}
	return all
}

func instant(t metav1.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// find reads the run and the ask that a person answers, and checks that it is the one that they were shown.
func (q *query) find(ctx context.Context, uid, shown string) (*reply.Ask, error) {
	run := &v1alpha1.MotorRun{}
	if err := q.Client.Get(ctx, q.key(), run); err != nil {
		return nil, err
	}
	name := run.Namespace + "/" + run.Name
	if string(run.UID) != uid {
		return nil, problem{http.StatusConflict, name + " did not take it: the run that asked is gone, and another one has its name."}
	}
	id := q.PathValue("id")
	if r := pending.ResponseTo(run, id); r != nil {
		return nil, problem{http.StatusConflict, fmt.Sprintf("%s did not take it: it was answered already, %s.", name, reply.Said(r))}
	}
	i := slices.IndexFunc(run.Status.PendingInputs, func(p v1alpha1.PendingInput) bool { return p.ID == id && !p.Answered })
	if i < 0 {
		return nil, problem{http.StatusConflict, name + " does not ask that any more."}
	}
	p := &run.Status.PendingInputs[i]
	if seen(run, p) != shown {
		return nil, problem{http.StatusConflict, name + " did not take it: the ask or its run changed since it was shown, look at it again."}
	}
	return &reply.Ask{Client: q.Client, Run: run, PendingInput: p}, nil
}
