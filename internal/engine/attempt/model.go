// SPDX-License-Identifier: Apache-2.0

package attempt

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cortex"
	"motorcortex.dev/motorcortex/internal/engine/redacting"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/engine/spending"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/runpolicy"
)

// openModel opens the model of the run's loop. A *chat.Outage means that there is none until something is configured.
func (a *Attempt) openModel(ctx context.Context) (chat.Model, cortex.Endpoint, error) {
	endpoint, err := a.Host.Models.Resolve(ctx, a.Env.Run)
	a.awaySeconds = endpoint.WaitSeconds()
	if p, ok := cortex.AsProblem(err); ok {
		return nil, endpoint, missing(p)
	}
	if err != nil {
		return nil, endpoint, fmt.Errorf("resolve the model: %w", err)
	}
	a.Env.Known.Add(redacting.ModelKeyName, endpoint.APIKey.Reveal())
	model, err := a.Host.NewModel(endpoint)
	if err != nil {
		return nil, endpoint, missing(&cortex.Problem{
			Reason:  v1alpha1.ReasonModelNotConfigured,
			Message: fmt.Sprintf("The model's endpoint cannot be used: %v. Correct spec.models of the MotorCortex.", err),
		})
	}
	return model, endpoint, knownAway(model, a.Env.Entries.Turns())
}

// awayModel is the model of a loop that asks none any more, because the end of its attempt was accepted and only has to be recorded. An outage
// would prevent that.
type awayModel struct{ outage *chat.Outage }

// unneeded replaces an unavailable model with awayModel if the loop asks none any more.
func unneeded(model chat.Model, err error, p runpolicy.Progress) (chat.Model, error) {
	if outage, away := errors.AsType[*chat.Outage](err); away && p.Accepted != nil {
		return awayModel{outage}, nil
	}
	return model, err
}

// Complete returns the outage.
func (m awayModel) Complete(context.Context, chat.Request) (chat.Answer, error) {
	return chat.Answer{}, m.outage
}

// readyModel is a model that gets no request for a step before the sandbox is ready.
type readyModel struct {
	chat.Model
	prepared <-chan struct{}
}

// Complete asks the model.
func (m readyModel) Complete(ctx context.Context, r chat.Request) (chat.Answer, error) {
	if len(r.Tools) == 0 {
		// The request for a partial result at the end of an attempt needs no sandbox, and none may be prepared for it any more.
		return m.Model.Complete(ctx, r)
	}
	select {
	case <-m.prepared:
		return m.Model.Complete(ctx, r)
	case <-ctx.Done():
		return chat.Answer{}, ctx.Err()
	}
}

// Storage knows when the runs of a namespace keep so much in the cluster that none of them may go on.
type Storage interface {
	// Held returns why they may not, for a person, and "" if they may.
	Held(ctx context.Context, namespace string) (why string, err error)
}

// heldModel is a model that gets no request for a step while its namespace keeps too much. The run waits as for a model that is not available, between
// two steps, so that no call is broken off.
type heldModel struct {
	chat.Model
	storage   Storage
	namespace string
}

// Complete asks the model.
func (m heldModel) Complete(ctx context.Context, r chat.Request) (chat.Answer, error) {
	if len(r.Tools) == 0 {
		// A summary lets the run go on, and a partial result ends its attempt: neither calls for more steps.
		return m.Model.Complete(ctx, r)
	}
	why, err := m.storage.Held(ctx, m.namespace)
	if err != nil {
		return chat.Answer{}, fmt.Errorf("look at the storage of the namespace: %w", err)
	}
	if why != "" {
		return chat.Answer{}, outOfRoom(why)
	}
	return m.Model.Complete(ctx, r)
}

// outOfRoom returns the outage of a run that may not go on.
func outOfRoom(why string) *chat.Outage {
	return &chat.Outage{Reason: v1alpha1.ReasonStorageFull, Message: why, MustAct: true}
}

// memoModel does not repeat a request whose answer could not be recorded. An API server may be readable and still
// refuse a step, for an unavailable webhook or an exhausted quota. Without memoModel each new start of the loop would then cost an answer. The key
// is the whole request, which changes as soon as a step is recorded.
type memoModel struct {
	chat.Model
	memory *Memory
}

// unrecordedAnswer is an answer that may not be in the journal.
type unrecordedAnswer struct {
	requestDigest string
	answer        chat.Answer
}

// maxUnrecorded is how many answers can be lost at once: those about the end of an attempt, which are recorded together.
const maxUnrecorded = 2

// Complete asks the model, unless it has answered.
func (m memoModel) Complete(ctx context.Context, r chat.Request) (chat.Answer, error) {
	digest := chat.RequestDigest(r)
	for _, u := range m.memory.unrecorded {
		if u.requestDigest == digest {
			return u.answer, nil
		}
	}
	answer, err := m.Model.Complete(ctx, r)
	if err != nil {
		return chat.Answer{}, err
	}
	kept := m.memory.unrecorded
	kept = kept[max(0, len(kept)-maxUnrecorded+1):]
	m.memory.unrecorded = append(slices.Clone(kept), unrecordedAnswer{digest, answer})
	return answer, nil
}

// hintModel is the model of the fast role. It is resolved when it is asked, which most runs never do.
type hintModel struct {
	host    *Host
	env     *runenv.Env
	account *spending.Account
}

// Complete asks the model. A missing model is an error like any other: then there is no hint.
func (m hintModel) Complete(ctx context.Context, r chat.Request) (chat.Answer, error) {
	model, err := m.open(ctx)
	if err != nil {
		m.env.Log.Info("there is no hint, because its model cannot be had", "error", err)
		return chat.Answer{}, err
	}
	return model.Complete(ctx, r)
}

func (m hintModel) open(ctx context.Context) (chat.Model, error) {
	endpoint, err := m.host.Models.ResolveFast(ctx, m.env.Run.Namespace)
	if err != nil {
		return nil, fmt.Errorf("resolve the fast model: %w", err)
	}
	m.env.Known.Add(redacting.ModelKeyName, endpoint.APIKey.Reveal())
	model, err := m.host.NewModel(endpoint)
	if err != nil {
		return nil, err
	}
	return spending.Model{Model: model, Account: m.account, Name: endpoint.Model}, nil
}
