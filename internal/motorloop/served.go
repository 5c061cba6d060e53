// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"context"
	"errors"

	"motorcortex.dev/motorcortex/internal/motorloop/catalog"
	"motorcortex.dev/motorcortex/internal/motorloop/record"
	"motorcortex.dev/motorcortex/internal/motorloop/result"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// Calls that the engine serves: none of them reaches the sandbox as a call.

const (
	noDomainsText     = "no run of this cluster can ask for domains: go on without, and say in your result what you could not reach"
	noCredentialsText = "no run of this cluster can store credentials, so nothing was stored"
	noSearchText      = "this cluster has no search: go on without"
)

// judgeDomain returns the result of a request for a domain that needs no decision of a person, nil for any other. A request that a
// person was asked about is the person's, whatever is allowed by now: an approval is in effect when the loop is started on it.
func (r *run) judgeDomain(t *turn.Turn, c *turn.Call) *toolapi.Result {
	if r.domains == nil {
		return result.Refusal(toolapi.CodeDomainNotAllowed, noDomainsText)
	}
	if _, asked := t.Ask(turn.AskDomain, c.ID); asked {
		return nil
	}
	if res := r.domains.Check(c.Arguments); res != nil {
		return result.Clean(*res, record.OutputShare(t))
	}
	return nil
}

// notRequested returns an error if the arguments are not a valid domain request.
func (r *run) notRequested(t *turn.Turn, c *turn.Call) error {
	if _, asked := t.Ask(turn.AskDomain, c.ID); r.domains == nil || asked {
		return nil
	}
	if res := r.domains.Check(c.Arguments); res != nil && res.ErrorCode == toolapi.CodeInvalidArguments {
		return errors.New(res.Output)
	}
	return nil
}

// serveHere returns the result of a call that has an effect and does not reach the sandbox, once it may be made. Its only
// execution has the id of the call.
func (r *run) serveHere(
	ctx context.Context, t *turn.Turn, c *turn.Call, serve func(context.Context, *turn.Turn, *turn.Call) (*toolapi.Result, error),
) (*toolapi.Result, *turn.Ask, error) {
	if res, open, err := r.leave(ctx, t, c, c.ID); res != nil || open != nil || err != nil {
		return res, open, err
	}
	res, err := serve(ctx, t, c)
	if err == nil {
		res, err = r.onceMore(ctx, c, res, func() (*toolapi.Result, error) { return serve(ctx, t, c) })
	}
	return res, nil, err
}

// saveCredential stores a credential. Nothing is recorded before: a call whose end was not seen is made again.
func (r *run) saveCredential(ctx context.Context, t *turn.Turn, c *turn.Call) (*toolapi.Result, error) {
	if r.credentials == nil {
		return result.Refusal(toolapi.CodeCredentialRefused, noCredentialsText), nil
	}
	if err := r.gate.wait(ctx); err != nil {
		return nil, err
	}
	defer r.watch.Wait()()
	res, err := r.credentials.Save(ctx, catalog.ObjectOrEmpty(c.Arguments))
	if err != nil {
		return nil, err
	}
	return result.Clean(res, record.OutputShare(t)), nil
}

// searchWeb carries out a search.
func (r *run) searchWeb(ctx context.Context, t *turn.Turn, c *turn.Call) (*toolapi.Result, error) {
	if r.search == nil {
		return result.Refusal(toolapi.CodeToolNotGranted, noSearchText), nil
	}
	defer r.watch.Wait()()
	res, err := r.search.Search(ctx, catalog.ObjectOrEmpty(c.Arguments))
	if err != nil {
		return nil, err
	}
	return r.marked(t, c, res), nil
}
