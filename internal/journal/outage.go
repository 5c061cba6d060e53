// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/budget"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/text"
)

// outageSuffix is the suffix that the step of an outage has after the name of the step which waits. Each step has one outage at most, so the bound
// on the number of steps bounds the outages too.
const outageSuffix = "-outage"

const (
	// maxOutageSeconds is the longest time that the API has for an outage, and maxRaise the most tokens for an amount.
	maxOutageSeconds = 31_536_000
	maxRaise         = 1_000_000_000_000_000
)

// maxOutageMessage bounds the message about an outage, in bytes.
const maxOutageMessage = 1024

// Away records that the model is unavailable for the next step of the attempt, and returns the step of the outage. A further call records the new
// state. It writes only if the reason is another one, or the try cost tokens.
func (l *Log) Away(ctx context.Context, o *chat.Outage, deadlineSeconds int32) (*v1alpha1.MotorStep, error) {
	said := v1alpha1.ModelOutage{
		DeadlineSeconds: deadlineSeconds, Reason: o.Reason, Message: text.CutBytes(o.Message, maxOutageMessage), MustAct: o.MustAct, Ask: askSpec(o.Ask),
	}
	s := l.openOutage()
	if s == nil {
		created, err := l.createOutage(ctx, said)
		if err != nil {
			return nil, err
		}
		s = created
	}
	known := cmp.Or(s.Status.Outage, s.Spec.Outage)
	same := known.Reason == said.Reason && known.MustAct == said.MustAct && askID(known) == askID(&said)
	if !same && said.Ask != nil {
		// A person who is asked has the whole time, whatever the run waited for before.
		waited := max(l.now().Sub(s.CreationTimestamp.Time), 0) / time.Second
		said.DeadlineSeconds = int32(min(int64(waited)+int64(deadlineSeconds), maxOutageSeconds))
	}
	cost := usageSpec(o.Usage)
	if same && cost == (v1alpha1.Usage{}) {
		return s, nil
	}
	// The sum is made once: the change is made again where its first write was carried out and the answer got lost.
	u := s.Status.FailedUsage
	u.PromptTokens, u.CompletionTokens = u.PromptTokens+cost.PromptTokens, u.CompletionTokens+cost.CompletionTokens
	u.CachedTokens, u.TotalTokens = u.CachedTokens+cost.CachedTokens, u.TotalTokens+cost.TotalTokens
	u.Estimated = u.Estimated || cost.Estimated
	budget.AddCost(&u, cost)
	err := l.update(ctx, s, func() {
		if !same {
			s.Status.Outage = &said
		}
		s.Status.FailedUsage = u
	})
	if err != nil {
		return nil, fmt.Errorf("note in step %s: %w", s.Name, refused(s, err))
	}
	return s, nil
}

func askID(o *v1alpha1.ModelOutage) string {
	if o.Ask == nil {
		return ""
	}
	return o.Ask.ID
}

func askSpec(a *chat.RaiseAsk) *v1alpha1.BudgetAsk {
	if a == nil {
		return nil
	}
	spec := &v1alpha1.BudgetAsk{ID: a.ID}
	if a.Tokens > 0 {
		spec.RaiseBy.Tokens = new(min(a.Tokens, maxRaise))
	}
	if a.Cost != "" {
		spec.RaiseBy.Cost = new(v1alpha1.Amount(a.Cost))
	}
	return spec
}

// openOutage returns the step of the outage that the next step waits for, nil if there is none.
func (l *Log) openOutage() *v1alpha1.MotorStep {
	for i := range l.outages {
		if s := &l.outages[i]; s.Spec.Attempt == l.attempt && s.Spec.Index == l.next() {
			return s
		}
	}
	return nil
}

func (l *Log) createOutage(ctx context.Context, said v1alpha1.ModelOutage) (*v1alpha1.MotorStep, error) {
	s := l.newStep(l.next(), v1alpha1.MotorStepSpec{Type: v1alpha1.StepOutage, Outage: &said})
	s.Spec.Sandbox = nil
	s.Name += outageSuffix
	created, err := l.write(ctx, s)
	if err != nil {
		return nil, err
	}
	l.outages = append(l.outages, *created)
	return &l.outages[len(l.outages)-1], nil
}
