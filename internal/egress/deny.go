// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
)

// Reason is why a request was refused or a connection ended. It is a label of metrics: the set is closed.
type Reason string

// Reasons for malformed or contradictory requests of a client.
const (
	// ReasonBadRequest: the request is not one that can be read in one way only.
	ReasonBadRequest Reason = "bad_request"
	// ReasonBadHost: the host or port is not spelled the one way that is accepted.
	ReasonBadHost Reason = "bad_host"
	// ReasonHostMismatch: the Host header names another host than the request.
	ReasonHostMismatch Reason = "host_mismatch"
	// ReasonHeadTooLarge: the head is longer than is read.
	ReasonHeadTooLarge Reason = "header_too_large"
	// ReasonHeadTimeout: the head did not come in time.
	ReasonHeadTimeout Reason = "header_timeout"
	// ReasonMethod: TRACE, or another method that is not passed on.
	ReasonMethod Reason = "method_not_allowed"
	// ReasonUpgrade: a plain connection cannot become something else.
	ReasonUpgrade Reason = "upgrade_not_allowed"
	// ReasonTLSRequired: this host and port is reached by CONNECT and TLS only.
	ReasonTLSRequired Reason = "tls_required"
)

// Reasons about the identity of the client.
const (
	ReasonNoToken      Reason = "no_token"
	ReasonUnknownToken Reason = "unknown_token"
	// ReasonWrongSource: the token is right, and comes from an address that is not its Pod's.
	ReasonWrongSource Reason = "wrong_source"
	// ReasonExpired: the grant was not renewed in time.
	ReasonExpired Reason = "grant_expired"
	// ReasonRevoked: the grant is gone, or does not allow the host any more.
	ReasonRevoked Reason = "revoked"
)

// Reasons about the destination and the use of a credential.
const (
	// ReasonNotAllowed: no rule of the run allows the host and port.
	ReasonNotAllowed Reason = "domain_not_allowed"
	// ReasonAddress: the name leads to an address that no sandbox may reach.
	ReasonAddress Reason = "address_not_allowed"
	// ReasonNotTLS: what came after CONNECT is not a ClientHello.
	ReasonNotTLS Reason = "not_tls"
	// ReasonNoServerName: the ClientHello names no host.
	ReasonNoServerName Reason = "no_server_name"
	// ReasonServerName: the ClientHello names another host than CONNECT did.
	ReasonServerName Reason = "server_name_mismatch"
	// ReasonHelloTooLarge: the ClientHello is longer than is read.
	ReasonHelloTooLarge Reason = "client_hello_too_large"
	// ReasonHelloTimeout: the ClientHello did not come in time.
	ReasonHelloTimeout Reason = "client_hello_timeout"
)

// Credentials.
const (
	// ReasonCredentialPlaintext: a credential or its handle was sent without TLS.
	ReasonCredentialPlaintext Reason = "credential_plaintext"
	// ReasonCredentialMisuse: a handle was sent to a host, or in a slot, that it is not for.
	ReasonCredentialMisuse Reason = "credential_misuse"
	// ReasonCredentialInvalid: the credential's value is too short, or has characters that no request may carry; it was not sent.
	ReasonCredentialInvalid Reason = "credential_invalid"
	// ReasonUpstreamTLS: the host's certificate is not valid; no credential was sent.
	ReasonUpstreamTLS Reason = "upstream_certificate"
	// ReasonNoTerminator: a credential is bound to the host, and nothing can speak for it.
	ReasonNoTerminator Reason = "no_terminator"
)

// Limits.
const (
	ReasonRateLimited Reason = "rate_limited"
	ReasonTooMany     Reason = "too_many_connections"
	ReasonTooManyName Reason = "too_many_names"
	ReasonBytes       Reason = "byte_limit"
	ReasonIdle        Reason = "idle_timeout"
)

// Not the client's doing.
const (
	// ReasonNotReady: the proxy does not know the forbidden addresses yet.
	ReasonNotReady Reason = "not_ready"
	// ReasonResolve: the name has no address, or the DNS server did not answer.
	ReasonResolve Reason = "dns_failed"
	// ReasonDial: no address of the host could be reached.
	ReasonDial Reason = "dial_failed"
	// ReasonUpstream: the host's answer cannot be passed on.
	ReasonUpstream Reason = "upstream_failed"
	// ReasonEncoding: the host's answer to a request with a credential is encoded in a way that cannot be looked into.
	ReasonEncoding Reason = "encoding_refused"
	ReasonShutdown Reason = "shutdown"
	// ReasonClosed: client or host ended the connection, as connections end. It is no refusal.
	ReasonClosed Reason = "closed"
)

// status is the status of the answer to a refused request.
func (r Reason) status() int {
	switch r {
	case ReasonBadRequest, ReasonBadHost, ReasonHostMismatch, ReasonTLSRequired:
		return http.StatusBadRequest
	case ReasonHeadTooLarge:
		return http.StatusRequestHeaderFieldsTooLarge
	case ReasonHeadTimeout:
		return http.StatusRequestTimeout
	case ReasonMethod:
		return http.StatusMethodNotAllowed
	case ReasonNoToken, ReasonUnknownToken, ReasonExpired, ReasonRevoked:
		return http.StatusProxyAuthRequired
	case ReasonRateLimited, ReasonTooMany, ReasonTooManyName, ReasonBytes:
		return http.StatusTooManyRequests
	case ReasonNotReady, ReasonShutdown, ReasonNoTerminator:
		return http.StatusServiceUnavailable
	case ReasonResolve, ReasonDial, ReasonUpstream, ReasonUpstreamTLS:
		return http.StatusBadGateway
	case ReasonIdle:
		return http.StatusGatewayTimeout
	default:
		return http.StatusForbidden
	}
}

// phrases describe a refusal in a few words; %s is the domain. Many clients show nothing else.
var phrases = map[Reason]string{
	ReasonNotAllowed:          "Domain %s is not allowed",
	ReasonAddress:             "The address of %s is not allowed",
	ReasonRevoked:             "The grant for %s has ended",
	ReasonExpired:             "The grant for %s has ended",
	ReasonBadRequest:          "The request is malformed or ambiguous",
	ReasonBadHost:             "The host or port is not spelled in a way that is accepted",
	ReasonHostMismatch:        "The Host header is not the host of the request",
	ReasonHeadTooLarge:        "The head of the request is too large",
	ReasonHeadTimeout:         "The head of the request took too long",
	ReasonMethod:              "This method is not passed on",
	ReasonUpgrade:             "A connection cannot be upgraded",
	ReasonTLSRequired:         "Use https for %s",
	ReasonNoToken:             "The proxy needs a token",
	ReasonUnknownToken:        "The token is not known",
	ReasonWrongSource:         "The token belongs to another Pod",
	ReasonCredentialPlaintext: "A credential must not be sent without TLS to %s",
	ReasonCredentialMisuse:    "A credential is not for %s",
	ReasonNoTerminator:        "Nothing can hold the credential for %s",
	ReasonRateLimited:         "Too many requests",
	ReasonTooMany:             "Too many connections",
	ReasonTooManyName:         "Too many new host names",
	ReasonBytes:               "Too many bytes",
	ReasonNotReady:            "The proxy is not ready",
	ReasonResolve:             "The address of %s could not be found",
	ReasonDial:                "%s could not be reached",
	ReasonUpstream:            "The answer of %s could not be used",
	ReasonUpstreamTLS:         "The answer of %s could not be used",
}

func (r Reason) phrase() string {
	if phrase, ok := phrases[r]; ok {
		return phrase
	}
	return "Refused"
}

// advice returns what the reader of the body, a model, can do.
func (r Reason) advice() string {
	switch r {
	case ReasonNotAllowed:
		return "Call request_domain with this domain if the task needs it."
	case ReasonAddress:
		return "Addresses of the cluster and of private networks cannot be reached."
	case ReasonTLSRequired, ReasonCredentialPlaintext:
		return "Use https."
	case ReasonBadHost:
		return "Only full host names and port numbers can be used, no IP addresses."
	case ReasonRateLimited, ReasonTooMany, ReasonTooManyName, ReasonNotReady, ReasonShutdown:
		return "Try again later."
	case ReasonBytes:
		return "Download less, or try again in an hour."
	default:
		return ""
	}
}

// proxyError is the error type of RFC 9209 that comes nearest.
func (r Reason) proxyError() string {
	switch r {
	case ReasonAddress:
		return "destination_ip_prohibited"
	case ReasonResolve:
		return "dns_error"
	case ReasonDial:
		return "destination_unavailable"
	case ReasonUpstream:
		return "http_protocol_error"
	case ReasonUpstreamTLS:
		return "tls_certificate_error"
	case ReasonTooMany:
		return "connection_limit_reached"
	case ReasonNotReady, ReasonShutdown, ReasonNoTerminator:
		return "proxy_internal_error"
	case ReasonBadRequest, ReasonBadHost, ReasonHostMismatch, ReasonHeadTooLarge, ReasonHeadTimeout:
		return "http_request_error"
	default:
		return "http_request_denied"
	}
}

// reported reports whether people see the reason: one that comes from what a run does, and not from the state of the network.
func (r Reason) reported() bool {
	switch r {
	case ReasonWrongSource, ReasonNotAllowed, ReasonAddress, ReasonNotTLS, ReasonNoServerName, ReasonServerName,
		ReasonCredentialPlaintext, ReasonCredentialMisuse, ReasonUpstreamTLS, ReasonNoTerminator,
		ReasonRateLimited, ReasonTooMany, ReasonTooManyName, ReasonBytes:
		return true
	default:
		return false
	}
}

// Misuse reports whether a refusal is about a credential or a token in the wrong slot. Such a refusal must not be lost among others.
func (r Reason) Misuse() bool {
	return r == ReasonWrongSource || r == ReasonUpstreamTLS || strings.HasPrefix(string(r), "credential_")
}

// Body is the body of the answer to a refused request, for its reader: a model. The domain, and the name of a credential, are omitted if
// they are empty.
func (r Reason) Body(domain, credential, message string) []byte {
	body, err := json.Marshal(struct {
		Error      Reason `json:"error"`
		Domain     string `json:"domain,omitempty"`
		Credential string `json:"credential,omitempty"`
		Message    string `json:"message"`
	}{r, domain, credential, message})
	if err != nil {
		body = []byte("{}")
	}
	return append(body, '\n')
}

// answer is the whole answer to a request that is refused. The only part of the request in it is the host, as it was parsed.
func (x *exchange) answer(why Reason) []byte {
	domain := ""
	if host := x.target.Host.String(); host != "" {
		domain = net.JoinHostPort(host, strconv.Itoa(int(x.target.Port)))
	}
	status, phrase := why.status(), why.phrase()
	if strings.Contains(phrase, "%s") {
		phrase = fmt.Sprintf(phrase, domain)
	}
	body := why.Body(domain, "", strings.TrimSpace(phrase+". "+why.advice()))
	var b strings.Builder
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\nMotor-Denied: %s\r\nProxy-Status: motorcortex; error=%s; details=%q\r\n",
		status, phrase, why, why.proxyError(), string(why))
	switch status {
	case http.StatusProxyAuthRequired:
		b.WriteString("Proxy-Authenticate: Basic realm=\"motorcortex\"\r\n")
	case http.StatusTooManyRequests:
		b.WriteString("Retry-After: 30\r\n")
	}
	fmt.Fprintf(&b, "Content-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n", len(body))
	if x.method == http.MethodHead {
		return []byte(b.String())
	}
	return append([]byte(b.String()), body...)
}

// check answers a client that asked whether its grant counts.
func (x *exchange) check() {
	x.write([]byte("HTTP/1.1 204 The grant counts\r\nConnection: close\r\n\r\n"))
}
