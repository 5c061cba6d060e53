// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/pkg/client/motor"
)

const (
	// personTime is how long a person may take to fill in a form.
	personTime = 10 * time.Minute
	// formID names the form of a call.
	formID = "decision"
	// statelessVersion is the first version of the protocol in which a server sends no requests: a result has them, and the program calls again.
	statelessVersion = "2026-07-28"
)

// hasForms reports whether the program of a call shows forms to a person.
func hasForms(req *mcp.CallToolRequest) bool {
	can := req.ClientCapabilities()
	if can == nil || can.Elicitation == nil {
		return false
	}
	// A program that names no mode has forms, by the versions before there was another one.
	return can.Elicitation.Form != nil || can.Elicitation.URL == nil
}

// decision is a call that carries out what a person chose.
type decision struct {
	tool      string
	arguments json.RawMessage
}

// asked has the person decide about the ask of a call in a form. It returns the call that carries that out; or the result of the call, which ends it or has the
// program show the form and call again.
func (s *Server) asked(ctx context.Context, req *mcp.CallToolRequest, p *motor.ProposedDecision) (d decision, result *mcp.CallToolResult) {
	f, err := s.form(ctx, p)
	if err != nil {
		return d, failed(err)
	}
	params := f.params()
	said, err := s.elicit(ctx, req, params, f.digest())
	switch {
	case err != nil:
		return d, failed(err)
	case said == nil:
		return d, &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{formID: params}, RequestState: f.digest()}
	case said.Action != "accept":
		return d, failed(errors.New("the person did not decide: nothing was sent. Do not ask again unless they want that"))
	}
	d.tool = f.tool()
	if d.arguments, err = f.decided(said.Content); err != nil {
		return d, failed(err)
	}
	return d, nil
}

// form is the form for the ask that a call names.
func (s *Server) form(ctx context.Context, p *motor.ProposedDecision) (*form, error) {
	run, err := s.client.Describe(ctx, p.Run)
	if err != nil {
		return nil, err
	}
	if p.UID != "" && p.UID != run.UID {
		return nil, fmt.Errorf("the run %s that was shown is gone, and another one of its name is there", p.Run)
	}
	i := slices.IndexFunc(run.Asks, func(a motor.AskDetails) bool {
		if p.Retry != nil {
			return a.Kind == v1alpha1.InputRetry && (p.AskID == "" || a.ID == p.AskID)
		}
		return a.ID == p.AskID
	})
	switch {
	case i >= 0:
		return newForm(run, &run.Asks[i], *p)
	case p.Retry != nil:
		return nil, fmt.Errorf("the run %s does not ask whether to try again: look at its status", p.Run)
	}
	return nil, fmt.Errorf("the run %s does not ask anything under the id %q now: look at its status", p.Run, p.AskID)
}

// elicit returns what the person said to the form with that digest, nil if the program has to show the form and call again.
func (s *Server) elicit(ctx context.Context, req *mcp.CallToolRequest, params *mcp.ElicitParams, digest string) (*mcp.ElicitResult, error) {
	if p := req.Session.InitializeParams(); p == nil || p.ProtocolVersion < statelessVersion {
		ctx, cancel := context.WithTimeout(ctx, personTime)
		defer cancel()
		said, err := req.Session.Elicit(ctx, params)
		if err != nil {
			return nil, fmt.Errorf("the person could not be asked: nothing was sent: %w", err)
		}
		return said, nil
	}
	said, ok := req.Params.InputResponses[formID].(*mcp.ElicitResult)
	switch {
	case !ok:
		return nil, nil //nolint:nilnil // The program is told to show the form.
	case req.Params.RequestState != digest:
		return nil, errors.New("the ask is not the one that the person saw: nothing was sent. Call again to show it")
	}
	return said, nil
}

// digest stands for what a form shows, of which run. Another run can get the name, and ask the same.
func (f *form) digest() string {
	sum := sha256.Sum256([]byte(string(f.run.UID) + "\n" + f.message)) // What it offers follows from that.
	return hex.EncodeToString(sum[:])
}
