// SPDX-License-Identifier: Apache-2.0

//go:build linux

package fetch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/net/http/httpguts"

	secretscan "motorcortex.dev/motorcortex/internal/secret/scan"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/plaintext"
	"motorcortex.dev/motorcortex/internal/toolserver/tool"
	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
)

const (
	fetchTimeout    = 30 * time.Second
	maxFetchTimeout = 120 * time.Second
	// MaxURLBytes bounds an address.
	MaxURLBytes = 8 << 10
	// MaxFetchHeaders and MaxFetchHeaderBytes bound the headers of a call.
	MaxFetchHeaders     = 64
	MaxFetchHeaderBytes = 32 << 10
	// MaxBodyFileBytes is the most that a file may have that is sent: as much as is looked through for secrets.
	MaxBodyFileBytes = secretscan.MaxBytes

	fetchAgent = "motorcortex-fetch"
)

var (
	fetchMethods = []string{
		http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions,
	}
	// ownHeaders are those that HTTP itself sets, or that are for the proxy.
	ownHeaders = []string{
		"Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Content-Length", "Expect", "Host", "Http2-Settings",
		"Forwarded", "Via",
		// They stand for another method than the one that was judged.
		"X-Http-Method-Override", "X-Http-Method", "X-Method-Override",
	}
	// commonHeaders are sent along with a redirect to another host. Any other header may be a key for the first host.
	commonHeaders = []string{"Accept", "Accept-Encoding", "Accept-Language", "Content-Type", "Range", "User-Agent"}
)

// outgoing is a request that may be sent.
type outgoing struct {
	method string
	url    *url.URL
	header http.Header
	body   []byte
	// bodyName names the body in messages.
	bodyName string
	timeout  time.Duration
	// hops is how many redirects led here.
	hops int
}

// newOutgoing checks the arguments of a fetch, and reads the file that is to be sent.
func newOutgoing(w *workspace.Workspace, args toolapi.FetchArgs, key string) (*outgoing, *toolapi.Result) {
	out := &outgoing{method: args.Method, timeout: time.Duration(args.TimeoutSeconds) * time.Second, body: []byte(args.Body), bodyName: "the body"}
	if out.method == "" {
		out.method = http.MethodGet
	}
	if args.TimeoutSeconds == 0 {
		out.timeout = fetchTimeout
	}
	var err error
	switch out.url, err = parseURL(args.URL); {
	case err != nil:
		return nil, invalid("The url %s", err)
	case !slices.Contains(fetchMethods, out.method):
		return nil, invalid("The method %q is not known. It is one of %s.", plaintext.Bound(out.method, 32), strings.Join(fetchMethods, ", "))
	case out.timeout < 0 || out.timeout > maxFetchTimeout:
		return nil, invalid("timeoutSeconds is %d and may be 1 to %d.", args.TimeoutSeconds, int(maxFetchTimeout.Seconds()))
	case args.Body != "" && args.BodyFile != "":
		return nil, invalid("There are body and bodyFile. Give one of them.")
	case args.SaveTo != "" && strings.HasSuffix(args.SaveTo, "/"):
		return nil, invalid("saveTo is a folder. Give the path of a file.")
	}
	if out.header, err = parseHeaders(args.Headers); err != nil {
		return nil, invalid("%v", err)
	}
	if args.BodyFile != "" {
		if out.body, err = readBodyFile(w, args.BodyFile); err != nil {
			bad := w.Failure("send", args.BodyFile, err)
			return nil, &bad
		}
		out.bodyName = workspace.Display(args.BodyFile)
	}
	out.complete(args, key)
	return out, nil
}

func invalid(format string, args ...any) *toolapi.Result {
	r := tool.Failure(toolapi.CodeInvalidArguments, format, args...)
	return &r
}

// complete adds the headers that a call need not set.
func (o *outgoing) complete(args toolapi.FetchArgs, key string) {
	for name, value := range map[string]string{"User-Agent": fetchAgent, "Accept": "*/*", "Accept-Encoding": "gzip"} {
		if o.header.Get(name) == "" {
			o.header.Set(name, value)
		}
	}
	if httpguts.ValidHeaderFieldValue(key) && key != "" {
		o.header.Set("Idempotency-Key", key)
	}
	if len(o.body) == 0 || o.header.Get("Content-Type") != "" {
		return
	}
	kind := "text/plain; charset=utf-8"
	switch {
	case args.BodyFile != "":
		kind = toolapi.MediaType(args.BodyFile, o.body)
	case json.Valid(o.body):
		kind = "application/json"
	}
	o.header.Set("Content-Type", kind)
}

// parseURL reads an address that a request may go to. Its error goes on after "The url ".
func parseURL(text string) (*url.URL, error) {
	if len(text) > MaxURLBytes {
		return nil, fmt.Errorf("has %d bytes and may have %d", len(text), MaxURLBytes)
	}
	u, err := url.Parse(text)
	if err != nil {
		// The text of the error repeats the address.
		return nil, fmt.Errorf("%q cannot be read. It is of the form https://host/path", plaintext.Bound(text, 200))
	}
	port, portErr := strconv.Atoi(u.Port())
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, fmt.Errorf("%q must begin with https:// or http://", plaintext.Bound(text, 200))
	case u.Hostname() == "":
		return nil, fmt.Errorf("%q has no host", plaintext.Bound(text, 200))
	case u.Port() != "" && (portErr != nil || port < 1 || port > 65535):
		return nil, fmt.Errorf("%q has a port that does not exist", plaintext.Bound(text, 200))
	case u.User != nil:
		return nil, fmt.Errorf("must not have a user or password before the host %s. Give them in the header Authorization", plaintext.Bound(u.Host, 200))
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

// parseHeaders reads the headers of a call.
func parseHeaders(given map[string]string) (http.Header, error) {
	if len(given) > MaxFetchHeaders {
		return nil, fmt.Errorf("there are %d headers, and there may be %d", len(given), MaxFetchHeaders)
	}
	header, size := http.Header{}, 0
	for name, value := range given {
		size += len(name) + len(value)
		canonical := http.CanonicalHeaderKey(name)
		switch {
		case !httpguts.ValidHeaderFieldName(name):
			return nil, fmt.Errorf("%q is no name of a header", plaintext.Bound(name, 64))
		case !httpguts.ValidHeaderFieldValue(value):
			return nil, fmt.Errorf("the value of the header %s has characters that no header can have, such as a line break", canonical)
		case isOwnHeader(canonical):
			return nil, fmt.Errorf("the header %s cannot be given: it is set by itself", canonical)
		case header.Get(canonical) != "":
			return nil, fmt.Errorf("the header %s is there twice", canonical)
		}
		header.Set(canonical, value)
	}
	if size > MaxFetchHeaderBytes {
		return nil, fmt.Errorf("the headers have %d bytes, and may have %d", size, MaxFetchHeaderBytes)
	}
	return header, nil
}

// isOwnHeader reports whether a call must not set a header. Some servers take _ for -.
func isOwnHeader(name string) bool {
	name = http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-"))
	return slices.Contains(ownHeaders, name) || strings.HasPrefix(name, "Proxy-")
}

func readBodyFile(w *workspace.Workspace, name string) ([]byte, error) {
	local, err := w.Resolve(name)
	if err != nil {
		return nil, err
	}
	file, info, err := w.OpenFile(local, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info.IsDir() {
		return nil, syscall.EISDIR
	}
	// The bytes that are read count, and not the reported size of the file: it may grow meanwhile.
	content, err := io.ReadAll(io.LimitReader(file, MaxBodyFileBytes+1))
	if err == nil && len(content) > MaxBodyFileBytes {
		err = workspace.BadPath(toolapi.CodeTooLarge, fmt.Sprintf(
			"%s has more than %d MiB, the most that one request sends. Send it in parts.", workspace.Display(name), MaxBodyFileBytes>>20))
	}
	return content, err
}

// secret returns an error result if the request has a secret that must not leave the sandbox. Addresses and headers are scanned for secrets
// of a known form only: the text after "key=" or "token=" there is a page as often as it is a key.
func (o *outgoing) secret(bodyFile string) *toolapi.Result {
	if found := secretscan.Scan(bodyFile, o.body); len(found) > 0 {
		return secretFound(o.bodyName, found[0])
	}
	const generic = "generic-api-key"
	texts := map[string][]byte{"the query of the url": []byte(queryText(o.url))}
	for name, values := range o.header {
		texts["the header "+name] = []byte(strings.Join(values, "\n"))
	}
	for what, text := range texts {
		for _, f := range secretscan.Scan("", text) {
			if f.RuleID != generic {
				return secretFound(what, f)
			}
		}
	}
	return nil
}

func queryText(u *url.URL) string {
	lines := []string{u.RawQuery}
	for name, values := range u.Query() {
		lines = append(lines, name+"="+strings.Join(values, "\n"))
	}
	return strings.Join(lines, "\n")
}

func secretFound(what string, f secretscan.Finding) *toolapi.Result {
	r := tool.Failure(toolapi.CodeSecretFound, "Nothing was sent: %s looks as if it had a secret in it (rule %s, line %d). "+
		"Take it out. A credential is sent by its placeholder, <credential:NAME>.", what, f.RuleID, f.Line)
	return &r
}

// request makes the HTTP request of one step.
func (o *outgoing) request(ctx context.Context) (*http.Request, error) {
	var body io.Reader
	if len(o.body) > 0 {
		body = strings.NewReader(string(o.body))
	}
	req, err := http.NewRequestWithContext(ctx, o.method, o.url.String(), body)
	if err != nil {
		return nil, err
	}
	req.Header = o.header.Clone()
	return req, nil
}

// redirected is the request that a redirect asks for, nil if the answer is not a redirect. It returns an error if the redirect is not
// followed.
func (o *outgoing) redirected(resp *http.Response) (*outgoing, error) {
	location := resp.Header.Get("Location")
	next := *o
	next.hops++
	switch resp.StatusCode {
	case http.StatusSeeOther:
		if next.method != http.MethodHead {
			next.method, next.body = http.MethodGet, nil
		}
	case http.StatusMovedPermanently, http.StatusFound:
		if next.method == http.MethodPost {
			next.method, next.body = http.MethodGet, nil
		}
	case http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil, nil //nolint:nilnil // it is no redirect
	}
	if location == "" {
		return nil, nil //nolint:nilnil // as above
	}
	if !next.onlyReads() {
		// The person who approved the request approved its address, and not one that a server names.
		return nil, errors.New("a request that does more than read is not sent elsewhere by itself; make it anew if that is meant")
	}
	to, err := o.url.Parse(location)
	if err == nil {
		to, err = parseURL(to.String())
	}
	if err != nil {
		return nil, fmt.Errorf("the address %s of the redirect cannot be used", workspace.Display(location))
	}
	next.url, next.header = to, o.header.Clone()
	if len(next.body) == 0 {
		next.header.Del("Content-Type")
	}
	if to.Scheme != o.url.Scheme || !strings.EqualFold(to.Host, o.url.Host) {
		for name := range next.header {
			if !slices.Contains(commonHeaders, name) {
				delete(next.header, name)
			}
		}
	}
	return &next, nil
}
