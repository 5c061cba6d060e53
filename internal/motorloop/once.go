// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"context"

	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/record"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// Once carries out one call that no model asked for, as the only turn of the attempt. turns are the journal's, as
// for Run: a turn in it is carried on, and c counts only if there is none. If refused is set, it is the result of the call,
// which is then not made. Once then does not wait for Ready either.
//
// The Outcome is Completed when the call has a result, whatever the result is, and Failed like that of Run. The rules of Run for
// errors and for a call of unknown outcome apply here too. Awaiting comes only from a tool that is not toolapi.Repeatable.
func (l *Loop) Once(ctx context.Context, turns []*turn.Turn, c turn.Call, refused *toolapi.Result) (outcome.Outcome, error) {
	r := l.newRun(turns)
	defer r.gate.stop()
	out, err := r.once(ctx, c, refused)
	return concluded(ctx, out, err)
}

func (r *run) once(ctx context.Context, c turn.Call, refused *toolapi.Result) (outcome.Outcome, error) {
	if len(r.turns) == 0 {
		if err := r.appendOnly(ctx, c, refused == nil); err != nil {
			return outcome.Outcome{}, err
		}
	}
	t := r.turns[0]
	if t.Settled() {
		return outcome.Outcome{Kind: outcome.Completed}, nil
	}
	res, made := refused, &t.Calls[0]
	if res == nil {
		var w *turn.Ask
		var err error
		if res, w, err = r.bringToEnd(ctx, t, made); err != nil {
			return outcome.Outcome{}, err
		}
		if w != nil {
			return outcome.Outcome{Kind: outcome.Awaiting, Waiting: w}, nil
		}
	}
	t.Results[0] = res
	r.tell(ctx, made, res)
	return outcome.Outcome{Kind: outcome.Completed}, r.journal.Settle(ctx, t)
}

// appendOnly records the turn. The record of one that is carried out names the sandbox.
func (r *run) appendOnly(ctx context.Context, c turn.Call, carriedOut bool) error {
	if carriedOut {
		if err := r.gate.wait(ctx); err != nil {
			return err
		}
	}
	t := record.New(r.cfg, nil, chat.Answer{Calls: []turn.Call{c}})
	if err := r.journal.Append(ctx, t); err != nil {
		return err
	}
	r.turns = append(r.turns, t)
	return nil
}
