// SPDX-License-Identifier: Apache-2.0

package terminate

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"motorcortex.dev/motorcortex/internal/egress"
	"motorcortex.dev/motorcortex/internal/egress/allowlist"
	"motorcortex.dev/motorcortex/internal/egress/grant"
	"motorcortex.dev/motorcortex/internal/secret/redact"
)

// Types of slots, as the API has them.
const (
	slotBearer = "Bearer"
	slotBasic  = redact.SlotBasic
	slotHeader = "Header"
	slotQuery  = "Query"
)

// ownHeaders are headers that a client's own credentials are sent in. They are not passed on to a host that a credential is bound to.
// Otherwise a run with an account of its own could carry data out to it, through a host that was allowed for another account. Names are
// compared without case, and with _ as -, because some servers take one for the other.
var ownHeaders = map[string]bool{
	"authorization": true, "proxy-authorization": true, "cookie": true, "cookie2": true,
	"api-key": true, "apikey": true, "x-api-key": true, "x-apikey": true, "x-api-token": true, "x-api-secret": true,
	"x-auth-token": true, "x-auth-key": true, "x-auth-email": true, "x-access-token": true, "x-token": true, "token": true,
	"x-authorization": true, "x-session-token": true, "private-token": true, "job-token": true, "deploy-token": true,
	"x-goog-api-key": true, "x-goog-iam-authorization-token": true, "x-amz-security-token": true,
	"ocp-apim-subscription-key": true, "x-functions-key": true, "x-vault-token": true, "x-consul-token": true,
	"dd-api-key": true, "dd-application-key": true, "circle-token": true, "x-shopify-access-token": true,
	"x-figma-token": true, "x-subscription-token": true, "x-rapidapi-key": true,
}

// ownParameters are parameters of a URL that serve the same end.
var ownParameters = map[string]bool{"access_token": true, "api_key": true, "apikey": true, "private_token": true}

// anyHandle finds the handles of other runs too.
var anyHandle = regexp.MustCompile(`(?i)` + grant.HandlePrefix + `[a-z2-7]{16,}`)

// binding is a credential that may be sent to the host of a connection.
type binding struct {
	name, handle, value string
	kind                string
	// slot is the name of the header or parameter, if the kind has one.
	slot string
}

// misuse is why a request is not passed on. Its credential is "" if the handle is not the run's.
type misuse struct {
	reason     egress.Reason
	credential string
}

// bindings are those credentials of a grant that are for this host and port. One whose hosts or slot cannot be read is for
// none.
func bindings(g *grant.Grant, t egress.Target) []binding {
	var bound []binding
	for _, c := range g.Credentials {
		rules, err := allowlist.ParseList(c.Hosts)
		if err != nil {
			continue
		}
		if _, ok := rules.Match(t.Host, t.Port); !ok || c.Handle == "" {
			continue
		}
		kind, slot, _ := strings.Cut(c.Slot, " ")
		named := kind == slotHeader || kind == slotQuery
		if named != (slot != "") || !named && kind != slotBearer && kind != slotBasic {
			continue
		}
		bound = append(bound, binding{c.Name, c.Handle, string(c.Value.Reveal()), kind, slot})
	}
	return bound
}

// swap replaces handles in their own slots with values, and removes the client's own credentials. It changes header and u in place, and
// returns the names of the credentials that are in them now.
func swap(header http.Header, u *url.URL, bound []binding, g *grant.Grant) (used []string, bad *misuse) {
	s := &swapper{bound: bound, grant: g}
	if bad := s.misused(u.EscapedPath()); bad != nil {
		return nil, bad
	}
	if bad := s.query(u); bad != nil {
		return nil, bad
	}
	for name, values := range header {
		kept, bad := s.header(name, values)
		if bad != nil {
			return nil, bad
		}
		if len(kept) == 0 {
			delete(header, name)
			continue
		}
		header[name] = kept
	}
	slices.Sort(s.used)
	return slices.Compact(s.used), nil
}

type swapper struct {
	bound []binding
	grant *grant.Grant
	used  []string
}

// header returns the remaining values of a header.
func (s *swapper) header(name string, values []string) ([]string, *misuse) {
	if bad := s.misused(name); bad != nil {
		return nil, bad
	}
	var kept []string
	for _, v := range values {
		for _, b := range s.bound {
			sent, ok := b.inHeader(name, v)
			if !ok {
				continue
			}
			if !sendable(b.value) {
				return nil, &misuse{egress.ReasonCredentialInvalid, b.name}
			}
			s.used = append(s.used, b.name)
			// With more than one value a host would choose one, and the client would choose the candidates.
			return []string{sent}, s.misusedIn(without(values, v))
		}
		if !s.own(name) {
			kept = append(kept, v)
		}
	}
	return kept, s.misusedIn(values)
}

// inHeader reports whether a header's value is the handle in its own slot, and returns the text to send instead.
func (b binding) inHeader(name, value string) (string, bool) {
	if b.kind == slotHeader {
		return b.value, strings.EqualFold(name, b.slot) && value == b.handle
	}
	if !strings.EqualFold(name, "Authorization") {
		return "", false
	}
	scheme, rest, _ := strings.Cut(value, " ")
	rest = strings.TrimLeft(rest, " ")
	switch {
	case b.kind == slotBearer && strings.EqualFold(scheme, "Bearer"):
		return "Bearer " + b.value, rest == b.handle
	case b.kind == slotBasic && strings.EqualFold(scheme, "Basic"):
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(b.value)), b.inBasic(rest)
	}
	return "", false
}

// inBasic reports whether the handle is the user or the password, and nothing of another one is beside it.
func (b binding) inBasic(encoded string) bool {
	user, password, both := strings.Cut(decodeBasic(encoded), ":")
	switch {
	case user == b.handle:
		return !both || password == b.handle || !anyHandle.MatchString(password)
	case both && password == b.handle:
		return !anyHandle.MatchString(user)
	}
	return false
}

func decodeBasic(encoded string) string {
	text, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(encoded, "="))
	if err != nil {
		return ""
	}
	return string(text)
}

// steers reports whether a header makes some servers read a request differently than its request line: another path or host, another
// client, or another method. With a credential in it, such a request would do more than the audit line shows.
func steers(plain string) bool {
	for _, prefix := range []string{"x-forwarded", "x-original-", "x-rewrite-", "x-envoy-", "x-override-"} {
		if strings.HasPrefix(plain, prefix) {
			return true
		}
	}
	return strings.HasPrefix(plain, "x-") && strings.Contains(plain, "-override") || strings.Contains(plain, "client-ip") || slices.Contains([]string{
		"forwarded", "x-real-ip", "x-host", "x-http-method", "x-method", "x-proxyuser-ip",
	}, plain)
}

// own reports whether a header would carry the client's own credential, or steer the request elsewhere.
func (s *swapper) own(name string) bool {
	plain := plainName(name)
	return ownHeaders[plain] || steers(plain) || slices.ContainsFunc(s.bound, func(b binding) bool {
		return b.kind == slotHeader && plainName(b.slot) == plain
	})
}

func plainName(name string) string { return strings.ReplaceAll(strings.ToLower(name), "_", "-") }

// query puts values into parameters. A ; separates too, because there are servers for which it does.
func (s *swapper) query(u *url.URL) *misuse {
	if u.RawQuery == "" {
		return nil
	}
	var out strings.Builder
	separator, first := "", true
	for rest := u.RawQuery; ; {
		end := strings.IndexAny(rest, "&;")
		part := rest
		if end >= 0 {
			part = rest[:end]
		}
		sent, keep, bad := s.parameter(part)
		if bad != nil {
			return bad
		}
		if keep {
			if !first {
				out.WriteString(separator)
			}
			out.WriteString(sent)
			first = false
		}
		if end < 0 {
			break
		}
		separator, rest = rest[end:end+1], rest[end+1:]
	}
	u.RawQuery = out.String()
	return nil
}

// parameter returns the text to send for one NAME=VALUE, if any.
func (s *swapper) parameter(part string) (sent string, keep bool, bad *misuse) {
	rawName, rawValue, _ := strings.Cut(part, "=")
	name, value := unescape(rawName), unescape(rawValue)
	own := ownParameters[strings.ToLower(name)]
	for _, b := range s.bound {
		if b.kind != slotQuery || !strings.EqualFold(name, b.slot) {
			continue
		}
		own = true
		if name != b.slot || value != b.handle {
			continue
		}
		if !sendable(b.value) {
			return "", false, &misuse{egress.ReasonCredentialInvalid, b.name}
		}
		s.used = append(s.used, b.name)
		return url.QueryEscape(name) + "=" + url.QueryEscape(b.value), true, nil
	}
	return part, !own, s.misused(part)
}

func (s *swapper) misusedIn(texts []string) *misuse {
	for _, t := range texts {
		if bad := s.misused(t); bad != nil {
			return bad
		}
	}
	return nil
}

// misused finds a handle where none belongs: as it is, percent-encoded once, or in basic credentials.
func (s *swapper) misused(text string) *misuse {
	texts := []string{text}
	if strings.Contains(text, "%") {
		texts = append(texts, unescape(text))
	}
	if scheme, rest, ok := strings.Cut(text, " "); ok && strings.EqualFold(scheme, "Basic") {
		texts = append(texts, decodeBasic(strings.TrimLeft(rest, " ")))
	}
	for _, t := range texts {
		for _, c := range s.grant.Credentials {
			if c.Handle != "" && strings.Contains(strings.ToLower(t), strings.ToLower(c.Handle)) {
				return &misuse{egress.ReasonCredentialMisuse, c.Name}
			}
		}
		if anyHandle.MatchString(t) {
			return &misuse{reason: egress.ReasonCredentialMisuse}
		}
	}
	return nil
}

// unescape undoes percent-encoding once, and leaves invalid escapes as they are.
func unescape(s string) string {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if plain, err := url.PathUnescape(s[i : i+3]); err == nil {
				out.WriteString(plain)
				i += 2
				continue
			}
		}
		out.WriteByte(s[i])
	}
	return out.String()
}

// sendable refuses values that would end a line or a string at the host, and values that are too short to be found in its answers. Blanks
// around a value do not count: a host does not get them in a header.
func sendable(value string) bool {
	return len(strings.TrimSpace(value)) >= redact.MinLength && !strings.ContainsFunc(value, func(r rune) bool { return r < 0x20 || r == 0x7f })
}

func without(values []string, v string) []string {
	return slices.DeleteFunc(slices.Clone(values), func(other string) bool { return other == v })
}
