// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// wants is a request for a domain. See fakeDomains for the meaning of the names.
func wants(domain string) turn.Call {
	return call(toolapi.ToolRequestDomain, fmt.Sprintf(`{"domain":%q,"reason":"to see it"}`, domain))
}

func saves(name string) turn.Call {
	return call(toolapi.ToolSaveCredential, fmt.Sprintf(`{"name":%q,"path":"key","hosts":["example.org"]}`, name))
}

// fakeDomains decides by the domain: "open" is allowed already, "never" cannot be, and "" is invalid. A person
// decides about all others; a domain that they allowed once is open from then on.
type fakeDomains struct{ allowed map[string]bool }

func (d *fakeDomains) domain(arguments string) string {
	var args toolapi.RequestDomainArgs
	if err := json.Unmarshal([]byte(arguments), &args); err != nil {
		return ""
	}
	return args.Domain
}

func (d *fakeDomains) Check(arguments string) *toolapi.Result {
	switch domain := d.domain(arguments); {
	case domain == "":
		return &toolapi.Result{ErrorCode: toolapi.CodeInvalidArguments, Output: "that is no domain"}
	case domain == "never":
		return &toolapi.Result{ErrorCode: toolapi.CodeDomainNotAllowed, Output: "never can be reached by no run"}
	case domain == "open" || d.allowed[domain]:
		return &toolapi.Result{OK: true, Output: domain + " can be reached already"}
	}
	return nil
}

func (d *fakeDomains) Decided(arguments, decision string) *toolapi.Result {
	domain := d.domain(arguments)
	if decision == "AllowOnce" || decision == "AllowRun" {
		d.allowed[domain] = true
		return &toolapi.Result{OK: true, Output: domain + " can be reached: " + decision}
	}
	return &toolapi.Result{ErrorCode: toolapi.CodeDomainDenied, Output: "the person did not allow " + domain}
}

// fakeStore stores credentials by name.
type fakeStore struct {
	fault fault
	ready func() bool
	saved map[string]int
}

func (s *fakeStore) Save(ctx context.Context, arguments string) (toolapi.Result, error) {
	if err := s.fault(ctx, "save: before"); err != nil {
		return toolapi.Result{}, err
	}
	if !s.ready() {
		return toolapi.Result{}, errors.New("called before the sandbox was ready")
	}
	var args toolapi.SaveCredentialArgs
	if err := json.Unmarshal([]byte(arguments), &args); err != nil {
		return toolapi.Result{}, err
	}
	if args.Name == "refused" {
		return toolapi.Result{ErrorCode: toolapi.CodeCredentialRefused, Output: "not this name"}, nil
	}
	s.saved[args.Name]++
	if err := s.fault(ctx, "save: after"); err != nil {
		return toolapi.Result{}, err
	}
	return toolapi.Result{OK: true, Output: "stored " + args.Name}, nil
}
