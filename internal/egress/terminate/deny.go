// SPDX-License-Identifier: Apache-2.0

package terminate

import (
	"net/http"

	"motorcortex.dev/motorcortex/internal/egress"
)

// writeDenial answers in the same way as the proxy does before it lets a connection through: the body names the refusal and the domain, for
// a model to read.
func writeDenial(w http.ResponseWriter, status int, domain string, no *refusal) {
	w.Header().Set("Motor-Denied", string(no.reason))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(no.reason.Body(domain, no.credential, message(no.reason))) // a client that is gone needs no answer
}

func message(reason egress.Reason) string {
	switch reason {
	case egress.ReasonRevoked:
		return "The grant for this domain has ended."
	case egress.ReasonRateLimited:
		return "Too many requests. Try again later."
	case egress.ReasonMethod:
		return "This method is not passed on."
	case egress.ReasonUpgrade:
		return "A connection to a domain with a credential cannot be upgraded."
	case egress.ReasonHostMismatch:
		return "The Host header is not the host of the connection."
	case egress.ReasonCredentialMisuse:
		return "A credential's handle was sent to a host, or in a place, that it is not for."
	case egress.ReasonUpstreamTLS:
		return "The certificate of the host is not valid. No credential was sent."
	case egress.ReasonDial:
		return "The host could not be reached."
	case egress.ReasonUpstream:
		return "The answer of the host could not be used."
	case egress.ReasonEncoding:
		return "The answer of the host is encoded in a way that cannot be looked into."
	case egress.ReasonCredentialInvalid:
		return "The credential's value is shorter than 8 bytes or has control characters in it, such as a line break. It was not sent; set it again without."
	default:
		return "The request was refused."
	}
}
