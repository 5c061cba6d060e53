// SPDX-License-Identifier: Apache-2.0

package grant

import (
	"time"

	"motorcortex.dev/motorcortex/internal/egress/grant"
	"motorcortex.dev/motorcortex/internal/secret"
)

// memory is the memory of this process about the grant of a run between two passes. Without it each pass would read every Secret, and check every
// right, anew.
type memory struct {
	// written is the grant as it was found or written last, at the time lookedAt. It is nil if there may be none.
	written  *grant.Grant
	lookedAt time.Time
	// version is the version of the grant's Secret, as it was found or written last. It is nil if there is none, or this process does not know.
	version *version
	// proxy is the address of the egress proxy, as it was found at the time proxyAt.
	proxy   string
	proxyAt time.Time
	// credentials are the run's credentials, by name, as they were read at the time readAt.
	credentials map[string]reading
	readAt      time.Time
	// reviews are the answers to whether a Secret may be used, by the credential's name.
	reviews map[string]review
	// choices are the answers to whether the requester may choose the hosts of a Secret, by the credential's name.
	choices map[string]choice
}

// reading is a credential's value, or why it cannot be used.
type reading struct {
	value   secret.Value
	problem error
}

// review is an answer of the API server about a right: nil if there is one.
type review struct {
	problem error
	at      time.Time
}

// choice is an answer of the API server about a right that is not needed in every case.
type choice struct {
	may bool
	at  time.Time
}
