// SPDX-License-Identifier: Apache-2.0

package box

import (
	"crypto/tls"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// Config is what the manager's flags say of sandboxes.
type Config struct {
	// GrantNamespace is where the egress proxy is told of sandboxes.
	GrantNamespace string
	// ClientCert shows the tool servers that this is the manager.
	ClientCert tls.Certificate
	// Forbidden are addresses that no sandbox may reach, each with something that listens there. Those of the sandbox's node
	// are added for each.
	Forbidden []toolapi.ProbeTarget
	// IsolationTimeout is how long a sandbox may take until all of them are blocked.
	IsolationTimeout time.Duration
	// AllowUnenforced carries runs out in sandboxes that reach what they must not. Their journals say what that was.
	AllowUnenforced bool
	// EgressKey is what tokens and handles are derived from, the same as the controller's.
	EgressKey []byte
	// EgressTimeout is how long the way from a sandbox to the egress proxy may take to open, DefaultEgressTimeout if 0.
	EgressTimeout time.Duration
	// ConnectTimeout is how long the tool server of a running Pod may be unreachable.
	ConnectTimeout time.Duration
}
