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

// proposal returns what a call would decide, false for a call that decides nothing about an ask.
func proposal(req *mcp.CallToolRequest) (motor.Decide, bool) {
	var d motor.Decide
	if tool := req.Params.Name; tool != motor.ToolDecide && tool != motor.ToolTask {
		return d, false
	}
	// What cannot be read decides nothing: the tool refuses it.
	if err := json.Unmarshal(req.Params.Arguments, &d); err != nil {
		return d, false
	}
	return d, req.Params.Name == motor.ToolDecide || d.Action == "respond" || d.Action == motor.DecideApprove
}

// asked has the person decide about the ask of a call in a form. It returns the arguments of core_decide for that; or the result of the call, which ends it or
// has the program show the form and call again.
func (s *Server) asked(ctx context.Context, req *mcp.CallToolRequest, d motor.Decide) (decided json.RawMessage, result *mcp.CallToolResult) {
	f, err := s.form(ctx, d)
	if err != nil {
		return nil, failed(err)
	}
	params := f.params()
	said, err := s.elicit(ctx, req, params)
	switch {
	case err != nil:
		return nil, failed(err)
	case said == nil:
		return nil, &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{formID: params}, RequestState: digestOf(params)}
	case said.Action != "accept":
		return nil, failed(errors.New("the person did not decide: nothing was sent. Do not ask again unless they want that"))
	}
	if decided, err = f.decided(said.Content); err != nil {
		return nil, failed(err)
	}
	return decided, nil
}

// form is the form for the ask that a call names.
func (s *Server) form(ctx context.Context, d motor.Decide) (*form, error) {
	run, err := s.client.Describe(ctx, d.Run)
	if err != nil {
		return nil, err
	}
	if d.UID != "" && d.UID != run.UID {
		return nil, fmt.Errorf("the run %s that was shown is gone, and another one of its name is there", d.Run)
	}
	i := slices.IndexFunc(run.Asks, func(a motor.AskDetails) bool { return a.ID == d.AskID })
	if i < 0 {
		return nil, fmt.Errorf("the run %s does not ask anything under the id %q now: look at its status", d.Run, d.AskID)
	}
	return newForm(run, &run.Asks[i], d)
}

// elicit returns what the person said, nil if the program has to show the form and call again.
func (s *Server) elicit(ctx context.Context, req *mcp.CallToolRequest, params *mcp.ElicitParams) (*mcp.ElicitResult, error) {
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
	case req.Params.RequestState != digestOf(params):
		return nil, errors.New("the ask is not the one that the person saw: nothing was sent. Call again to show it")
	}
	return said, nil
}

// digestOf stands for what a form shows.
func digestOf(params *mcp.ElicitParams) string {
	sum := sha256.Sum256([]byte(params.Message)) // What it offers follows from that.
	return hex.EncodeToString(sum[:])
}
