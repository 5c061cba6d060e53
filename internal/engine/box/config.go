// SPDX-License-Identifier: Apache-2.0

package box

import (
	"crypto/tls"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// Config is the configuration of sandboxes from the manager's flags.
type Config struct {
	// GrantNamespace is the namespace of the grants for the egress proxy.
	GrantNamespace string
	// ClientCert identifies the manager to the tool servers.
	ClientCert tls.Certificate
	// Forbidden are addresses that no sandbox may reach, each with a known listener. Those of the sandbox's node
	// are added for each.
	Forbidden []toolapi.ProbeTarget
	// IsolationTimeout is how long a sandbox may take until all of them are blocked.
	IsolationTimeout time.Duration
	// AllowUnenforced carries runs out in sandboxes that reach forbidden addresses. Their journals name those.
	AllowUnenforced bool
	// EgressKey is the key from which tokens and handles are derived, the same as the controller's.
	EgressKey []byte
	// EgressTimeout is how long the connection from a sandbox to the egress proxy may take to open, DefaultEgressTimeout if 0.
	EgressTimeout time.Duration
	// ConnectTimeout is how long the tool server of a running Pod may be unreachable.
	ConnectTimeout time.Duration
}
