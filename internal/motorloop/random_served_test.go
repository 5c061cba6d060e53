// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"strings"

	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// checkServed checks the result of a call that the engine serves: it has no data of the sandbox, and the
// decision about a request is the person's own.
func (p *play) checkServed(c turn.Call, res *toolapi.Result, said string, unknown int) {
	if unknown > 0 || res.Provenance != toolapi.ProvenanceInternal {
		p.t.Fatalf("%s has %d unknown executions and the result %+v", c.ID, unknown, res)
	}
	if c.Tool == toolapi.ToolSaveCredential {
		name := strings.TrimPrefix(res.Output, "stored ")
		switch {
		case res.OK && p.saved[name] == 0:
			p.t.Fatalf("%s was not stored", name)
		case res.OK && p.saved[name] > 1:
			p.seen["saved again"]++
		}
		p.seen["saved"]++
		return
	}
	allowed := said == "AllowOnce" || said == "AllowRun"
	switch {
	case strings.HasSuffix(res.Output, "can be reached: "+said):
		if !allowed || !res.OK {
			p.t.Fatalf("%s was answered %q: %+v", c.ID, said, res)
		}
		p.seen["request allowed"]++
	case res.OK:
		domain := p.domains.domain(c.Arguments)
		if said != "" && p.interruptions == 0 || domain != "open" && !p.domains.allowed[domain] {
			p.t.Fatalf("nobody was asked about %s, although nobody had allowed %s", c.ID, domain)
		}
		p.seen["request open"]++
	default:
		// Another loop may have judged it before it was answered.
		early := p.interruptions > 0 && res.ErrorCode != toolapi.CodeDomainDenied
		if !early && (res.ErrorCode == toolapi.CodeDomainDenied) != (said != "" && !allowed && p.w.loop.Config.RequestDomain) && res.ErrorCode != toolapi.CodeTooManyCalls {
			p.t.Fatalf("%s was answered %q: %+v", c.ID, said, res)
		}
		p.seen["request "+res.ErrorCode]++
	}
}
