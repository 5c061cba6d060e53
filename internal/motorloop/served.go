// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"context"
	"errors"
	"strings"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// Calls that the engine serves: none of them reaches the sandbox as a call.

const (
	noDomainsText     = "no run of this cluster can ask for domains: go on without, and say in your result what you could not reach"
	noCredentialsText = "no run of this cluster can store credentials, so nothing was stored"
	noSearchText      = "nobody carries out searches in this cluster: go on without"
)

// requestDomain gives the result of a request for a domain, nil while it waits for a person. What a person decided comes
// before what is allowed by now: a decision in favour is in effect when the loop is started on it, and the call would
// otherwise be answered as if nobody had been asked.
func (r *run) requestDomain(t *Turn, c *Call) *toolapi.Result {
	if r.domains == nil {
		return refusal(toolapi.CodeDomainNotAllowed, noDomainsText)
	}
	answer, decided := r.answers[c.ID]
	if !decided {
		res := r.domains.Check(c.Arguments)
		if res == nil {
			return nil
		}
		return cleanResult(*res, outputShare(t))
	}
	decision, reason, _ := strings.Cut(answer, "\n")
	res := cleanResult(*r.domains.Decided(c.Arguments, decision), outputShare(t))
	return withReason(res, saysLead, reason, outputShare(t))
}

// notRequested says why the arguments of a request for a domain are none, nil if they are one.
func (r *run) notRequested(c *Call) error {
	if r.domains == nil || r.decided(c) {
		return nil
	}
	if res := r.domains.Check(c.Arguments); res != nil && res.ErrorCode == toolapi.CodeInvalidArguments {
		return errors.New(res.Output)
	}
	return nil
}

// decided says whether a person has decided about a request for a domain. It then has its result from there, whatever
// was decided before: who was asked is to be heard.
func (r *run) decided(c *Call) bool {
	_, ok := r.answers[c.ID]
	return ok && c.Tool == toolapi.ToolRequestDomain
}

// serveHere gives the result of a call that does something and does not reach the sandbox, once it may be made. Its only
// execution has the id of the call.
func (r *run) serveHere(
	ctx context.Context, t *Turn, c *Call, serve func(context.Context, *Turn, *Call) (*toolapi.Result, error),
) (*toolapi.Result, *waiting, error) {
	if res, waiting, err := r.leave(ctx, t, c, c.ID); res != nil || waiting != nil || err != nil {
		return res, waiting, err
	}
	res, err := serve(ctx, t, c)
	if err == nil {
		res, err = r.onceMore(ctx, c, res, func() (*toolapi.Result, error) { return serve(ctx, t, c) })
	}
	return res, nil, err
}

// saveCredential stores a credential. Nothing is recorded before: a call whose end nobody saw is made again.
func (r *run) saveCredential(ctx context.Context, t *Turn, c *Call) (*toolapi.Result, error) {
	if r.credentials == nil {
		return refusal(toolapi.CodeCredentialRefused, noCredentialsText), nil
	}
	if err := r.gate.wait(ctx); err != nil {
		return nil, err
	}
	res, err := r.credentials.Save(ctx, objectOrEmpty(c.Arguments))
	if err != nil {
		return nil, err
	}
	return cleanResult(res, outputShare(t)), nil
}

// searchWeb carries out a search.
func (r *run) searchWeb(ctx context.Context, t *Turn, c *Call) (*toolapi.Result, error) {
	if r.search == nil {
		return refusal(toolapi.CodeToolNotGranted, noSearchText), nil
	}
	res, err := r.search.Search(ctx, objectOrEmpty(c.Arguments))
	if err != nil {
		return nil, err
	}
	return r.marked(t, c, res), nil
}
