// SPDX-License-Identifier: Apache-2.0

package attempt

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cortex"
	"motorcortex.dev/motorcortex/internal/engine/redacting"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/websearch"
)

const (
	// CodeSearchFailed is the result of a search that was not carried out: its provider refused, or is not set up.
	CodeSearchFailed = "search_failed"
	// defaultResults is the maximum number of results if the model does not specify one.
	defaultResults = 10
)

// searcher carries out the searches of a run. It calls the provider from the manager, regardless of the sandbox's egress: the
// administrator of the namespace has chosen the provider, and the model chooses nothing but the query.
type searcher struct {
	// keys has the keys of providers.
	keys cortex.Resolver
	// transport reaches providers, one of its own kind if it is nil.
	transport http.RoundTripper
	provider  *v1alpha1.SearchProvider
	env       *runenv.Env
}

// openSearch opens the searcher of the run, if a provider is configured.
func (a *Attempt) openSearch(ctx context.Context, loop *motorloop.Loop) error {
	run := a.Env.Run
	if !slices.Contains(run.Spec.Tools, v1alpha1.ToolName(toolapi.ToolSearchWeb)) {
		return nil
	}
	c, err := cortex.Get(ctx, a.Env.Client, run.Namespace)
	if err != nil {
		return err
	}
	if c.Spec.Search != nil {
		loop.Config.Search = true
		loop.Search = &searcher{keys: a.Host.Models, transport: a.Host.SearchTransport, provider: c.Spec.Search, env: a.Env}
	}
	return nil
}

// Search serves a search_web call.
func (s *searcher) Search(ctx context.Context, arguments string) (toolapi.Result, error) {
	start := s.env.Now()
	r, err := s.search(ctx, arguments)
	if err != nil {
		return toolapi.Result{}, err
	}
	took := s.env.Now().Sub(start)
	r.DurationMs = max(0, took.Milliseconds())
	s.env.Log.Info("the web was searched", "ok", r.OK, "code", r.ErrorCode, "took", took.Round(time.Millisecond).String())
	return s.env.Known.HideResult(*r), nil
}

func (s *searcher) search(ctx context.Context, arguments string) (*toolapi.Result, error) {
	args, err := parseSearch(arguments)
	if err != nil {
		return toolapi.Refusal(toolapi.CodeInvalidArguments, err.Error()), nil
	}
	// The key is read for each search: a replaced key takes effect at once.
	key, err := s.keys.SearchKey(ctx, s.env.Run.Namespace, s.provider)
	switch p, missing := cortex.AsProblem(err); {
	case missing:
		return toolapi.Refusal(CodeSearchFailed, "The search provider is not set up. "+p.Message), nil
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		r := toolapi.Refusal(CodeSearchFailed, "The API key of the search provider could not be read.")
		r.Retryable = true
		s.env.Log.Error("the API key of the search provider could not be read", "error", err)
		return r, nil
	}
	s.env.Known.Add(redacting.SearchKeyName, key.Reveal())
	provider := websearch.Provider{Type: websearch.Type(s.provider.Type), URL: s.provider.URL, APIKey: key, Transport: s.transport}
	results, err := provider.Search(ctx, args.Query, int(args.Limit))
	if e, ok := errors.AsType[*websearch.Error](err); ok {
		return unsearched(e), nil
	}
	if err != nil {
		return nil, err
	}
	return &toolapi.Result{OK: true, Output: websearch.Format(results), Provenance: toolapi.ProvenanceWeb}, nil
}

func unsearched(e *websearch.Error) *toolapi.Result {
	code := CodeSearchFailed
	if e.NoAnswer {
		code = toolapi.CodeNetwork
	}
	r := toolapi.Refusal(code, e.Message)
	r.SetParts(r.Output, "") // The result may contain the provider's text.
	r.Retryable = e.Passes
	return r
}

// parseSearch reads the arguments of a search, and adds the defaults.
func parseSearch(arguments string) (toolapi.SearchWebArgs, error) {
	var args toolapi.SearchWebArgs
	dec := json.NewDecoder(bytes.NewReader([]byte(arguments)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&args); err != nil {
		return args, fmt.Errorf("the arguments do not fit: %w", err)
	}
	args.Query = strings.Join(strings.Fields(args.Query), " ")
	switch n := utf8.RuneCountInString(args.Query); {
	case n == 0:
		return args, errors.New("the query is empty")
	case n > websearch.MaxQuery:
		return args, fmt.Errorf("the query has %d characters: %d at most", n, websearch.MaxQuery)
	}
	if args.Limit == 0 {
		args.Limit = defaultResults
	}
	args.Limit = min(max(args.Limit, 1), websearch.MaxResults)
	return args, nil
}
