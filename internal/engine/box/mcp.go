// SPDX-License-Identifier: Apache-2.0

package box

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/redacting"
	"motorcortex.dev/motorcortex/internal/jsonbound"
	"motorcortex.dev/motorcortex/internal/motorloop/catalog"
	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

const (
	// mcpTimeoutMs is how long the MCP servers of a run may take to start and to name their tools.
	mcpTimeoutMs = 30_000
	// maxMCPTools and maxMCPToolBytes bound the tools of all servers together that a model sees: endpoints refuse
	// requests with more tools, and each request contains all of them.
	maxMCPTools     = 100
	maxMCPToolBytes = 256 << 10
)

const mcpChangedText = "it describes its tools otherwise than when the run was told of them first, so none of them is called any more"

// MCPServers are the MCP servers of a run, nil if it has none.
type MCPServers struct {
	run   *v1alpha1.MotorRun
	known *redacting.Secrets
	// pins are the digests of each server's tools when the run first saw them.
	pins map[string]string
	// states are in the order of the spec.
	states []mcpState
}

// mcpState is a server as the loop sees it.
type mcpState struct {
	catalog.MCPServer
	// changed is true if its tools no longer match its pin.
	changed bool
}

// NewMCPServers reads the pins from the journal. A run has them permanently, also when an attempt has another sandbox: tools
// that were read and found harmless once must not change.
func NewMCPServers(run *v1alpha1.MotorRun, steps []v1alpha1.MotorStep, known *redacting.Secrets) *MCPServers {
	if len(run.Spec.MCPServers) == 0 {
		return nil
	}
	m := &MCPServers{run: run, known: known, pins: map[string]string{}}
	for i := range steps {
		box := steps[i].Spec.Sandbox
		if box == nil {
			continue
		}
		for _, pin := range box.MCP {
			if m.pins[pin.Server] == "" {
				m.pins[pin.Server] = pin.Digest
			}
		}
	}
	return m
}

// Servers returns the servers for the loop. It is called when the sandbox is ready.
func (m *MCPServers) Servers() []catalog.MCPServer {
	list := make([]catalog.MCPServer, 0, len(m.states))
	for _, s := range m.states {
		list = append(list, s.MCPServer)
	}
	return list
}

// record writes the pins into the steps' entry of the sandbox.
func (m *MCPServers) record(box *v1alpha1.StepSandbox) {
	box.MCP = nil
	if m == nil {
		return
	}
	for i := range m.run.Spec.MCPServers {
		name := m.run.Spec.MCPServers[i].Name
		if pin := m.pins[name]; pin != "" {
			box.MCP = append(box.MCP, v1alpha1.MCPPin{Server: name, Digest: pin})
		}
	}
}

// request returns the request to the tool server.
func (m *MCPServers) request(way *WayOut) toolapi.MCPRequest {
	r := toolapi.MCPRequest{TimeoutMs: mcpTimeoutMs}
	for i := range m.run.Spec.MCPServers {
		s := &m.run.Spec.MCPServers[i]
		r.Servers = append(r.Servers, toolapi.MCPServer{
			Name: s.Name, URL: s.URL, Command: s.Command, Tools: s.Tools, Authorization: way.bearer(s.CredentialName),
		})
	}
	return r
}

// bearer returns the header Authorization with the stand-in of the credential, "" if there is none.
func (w *WayOut) bearer(name string) string {
	if w == nil || name == "" {
		return ""
	}
	i := slices.IndexFunc(w.env.Run.Spec.Credentials, func(c v1alpha1.Credential) bool { return c.Name == name })
	if i < 0 {
		return ""
	}
	if value, ok := w.standIn(&w.env.Run.Spec.Credentials[i]); ok {
		return "Bearer " + value
	}
	return ""
}

// setMCP makes the sandbox start the servers, or connect to them, and adopts their tools. An unusable server does
// not end the run: the model learns of it.
func (s *Box) setMCP(ctx context.Context) error {
	if s.MCP == nil {
		return nil
	}
	request := s.MCP.request(s.WayOut)
	resp, err := s.Client.MCP(ctx, request)
	if remote, ok := toolclient.RemoteProblem(err); ok && ctx.Err() == nil {
		resp = toolapi.MCPResponse{}
		for _, srv := range request.Servers {
			resp.Servers = append(resp.Servers, toolapi.MCPServerState{Name: srv.Name, Error: remote.Message})
		}
	} else if err != nil {
		return s.Env.Classify(ctx, err)
	}
	s.MCP.take(resp)
	for _, state := range s.MCP.states {
		if state.Problem != "" {
			s.Env.Log.Warn("an MCP server cannot be used as it was meant", "server", state.Name, "tools", len(state.Tools), "problem", state.Problem)
		}
	}
	// The program of a server is as hostile as one that a call starts.
	s.used = s.used || slices.ContainsFunc(request.Servers, func(srv toolapi.MCPServer) bool { return len(srv.Command) > 0 })
	return nil
}

// take checks the servers' tools against their pins, and pins those that appear for the first time.
func (m *MCPServers) take(resp toolapi.MCPResponse) {
	m.states = nil
	room := mcpRoom{tools: maxMCPTools, bytes: maxMCPToolBytes}
	for _, srv := range resp.Servers {
		state := mcpState{MCPServer: catalog.MCPServer{Name: srv.Name, Problem: m.clean(srv.Error)}}
		if srv.Error == "" {
			now := mcpDigest(srv.Tools)
			if m.pins[srv.Name] == "" {
				m.pins[srv.Name] = now
			}
			if state.changed = m.pins[srv.Name] != now; state.changed {
				state.Problem = mcpChangedText
			} else {
				var omitted string
				state.Tools, omitted = m.define(srv, &room)
				state.Problem = m.clean(strings.Trim(srv.Omitted+"; "+omitted, "; "))
			}
		}
		m.states = append(m.states, state)
	}
}

// clean makes a text of the sandbox fit to be shown in a line.
func (m *MCPServers) clean(said string) string {
	return text.FirstBytes(strings.Join(strings.Fields(m.known.Hide(said)), " "), maxDetail)
}

// mcpRoom is the remaining limit for the tools of all servers.
type mcpRoom struct{ tools, bytes int }

// define describes the tools of a server for the model, within the limits.
func (m *MCPServers) define(srv toolapi.MCPServerState, room *mcpRoom) (defs []catalog.ToolDefinition, omitted string) {
	for i, t := range srv.Tools {
		def := catalog.ToolDefinition{
			Name: toolapi.MCPToolName(srv.Name, t.Name), Description: m.known.Hide(t.Description), Parameters: t.InputSchema,
		}
		// A server that has the value of a credential can put it into a description. And an endpoint would refuse the whole request for
		// one invalid schema.
		if m.known.Hide(string(def.Parameters)) != string(def.Parameters) || !describesObject(def.Parameters) {
			def.Parameters = json.RawMessage(`{"type":"object"}`)
		}
		if !endpointToolName.MatchString(def.Name) {
			continue
		}
		size := len(def.Name) + len(def.Description) + len(def.Parameters)
		if room.tools == 0 || room.bytes < size {
			return defs, fmt.Sprintf("%d of its tools are left out, because all servers together offer too much", len(srv.Tools)-i)
		}
		room.tools, room.bytes = room.tools-1, room.bytes-size
		defs = append(defs, def)
	}
	return defs, ""
}

// endpointToolName matches names of tools that model endpoints accept.
var endpointToolName = regexp.MustCompile(fmt.Sprintf(`^[A-Za-z0-9_-]{1,%d}$`, toolapi.MaxToolName))

func describesObject(schema json.RawMessage) bool {
	var top struct {
		Type any `json:"type"`
	}
	// A very deeply nested schema uses stack wherever it is read, also at the endpoint.
	return jsonbound.Check(schema, jsonbound.Limits{Depth: 64}) == nil && json.Unmarshal(schema, &top) == nil && top.Type == "object"
}

// mcpDigest is "sha256:…" of the names, descriptions and schemas of tools.
func mcpDigest(tools []toolapi.MCPTool) string {
	type tool struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		InputSchema any    `json:"inputSchema"`
	}
	list := make([]tool, 0, len(tools))
	for _, t := range tools {
		dec := json.NewDecoder(bytes.NewReader(t.InputSchema))
		dec.UseNumber() // A float64 would make different large numbers equal.
		var schema any
		if err := dec.Decode(&schema); err != nil {
			schema = string(t.InputSchema)
		}
		list = append(list, tool{t.Name, t.Description, schema})
	}
	canonical, err := json.Marshal(list)
	if err != nil {
		canonical = nil // Decoded values can be encoded.
	}
	sum := sha256.Sum256(canonical)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// refuseMCP returns the result of a call of a tool that cannot be called, nil for any other call. A call that began before its
// server became unusable is not refused: the sandbox knows its outcome.
func (s *Box) refuseMCP(ctx context.Context, c toolapi.Call) (*toolapi.Result, error) {
	server, name, ok := toolapi.ParseMCPToolName(c.Tool)
	if !ok {
		return nil, nil
	}
	if !grantsMCP(s.Env.Run, server, name) {
		return toolapi.Refusal(toolapi.CodeToolNotGranted, fmt.Sprintf("this run was not granted the tool %q", c.Tool)), nil
	}
	state := s.MCP.find(server)
	if state != nil && slices.ContainsFunc(state.Tools, func(d catalog.ToolDefinition) bool { return d.Name == c.Tool }) {
		return nil, nil
	}
	before, err := s.Client.State(ctx, c.ID)
	switch {
	case err != nil:
		return nil, s.Env.Classify(ctx, err)
	case before.Phase != toolapi.CallAbsent:
		return nil, nil
	case state == nil:
		return toolapi.Refusal(toolapi.CodeMCPError, "nothing is known of the MCP server "+server), nil
	case state.changed:
		return toolapi.Refusal(toolapi.CodeMCPChanged, fmt.Sprintf("the MCP server %s is not used: %s", server, mcpChangedText)), nil
	}
	r := toolapi.Refusal(toolapi.CodeMCPError, fmt.Sprintf("the MCP server %s does not offer this tool now: %s", server, state.Problem))
	r.SetParts(r.Output, "") // The result contains the server's text.
	r.Provenance = toolapi.ProvenanceWeb
	return r, nil
}

func (m *MCPServers) find(name string) *mcpState {
	if m == nil {
		return nil
	}
	i := slices.IndexFunc(m.states, func(s mcpState) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &m.states[i]
}

// grantsMCP reports whether the run's spec allows a tool of a server.
func grantsMCP(run *v1alpha1.MotorRun, server, tool string) bool {
	return slices.ContainsFunc(run.Spec.MCPServers, func(s v1alpha1.MCPServer) bool {
		return s.Name == server && slices.Contains(s.Tools, tool)
	})
}
