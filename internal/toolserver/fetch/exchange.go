// SPDX-License-Identifier: Apache-2.0

//go:build linux

package fetch

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/plaintext"
	"motorcortex.dev/motorcortex/internal/toolserver/tool"
	"motorcortex.dev/motorcortex/internal/toolserver/wayout"
	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
)

const (
	// MaxRedirects is how many redirects one call follows.
	MaxRedirects = 10
	// maxResponseBytes is the most of a body, as it comes and unpacked.
	maxResponseBytes = 16 << 20
)

var (
	errBodyTooLarge = errors.New("the body is too large")
	errBodyPacked   = errors.New("the body cannot be unpacked")
)

// reply is the final answer of a server.
type reply struct {
	status    int
	reason    string // the words behind the status
	url       *url.URL
	redirects int
	header    http.Header
	// body is unpacked, unless encoding is set.
	body []byte
	// encoding is that of a body that could not be unpacked.
	encoding string
	// stuck is why a redirect was not followed.
	stuck string
	// onlyReads is true if the request may be repeated without harm.
	onlyReads bool
}

// exchange sends a request and those that redirects ask for, each through the proxy, and reads the last answer.
func (o *outgoing) exchange(ctx context.Context, client *http.Client) (*reply, *toolapi.Result) {
	for step := o; ; {
		req, err := step.request(ctx)
		if err != nil {
			bad := step.failure(toolapi.CodeInvalidArguments, "The request cannot be made: %s.", plaintext.Bound(err.Error(), 300))
			return nil, &bad
		}
		resp, err := client.Do(req)
		if err != nil {
			return nil, step.unanswered(ctx, err)
		}
		got := &reply{status: resp.StatusCode, url: step.url, redirects: step.hops, header: resp.Header, onlyReads: step.onlyReads()}
		_, got.reason, _ = strings.Cut(resp.Status, " ")
		next, err := step.redirected(resp)
		switch {
		case err != nil:
			got.stuck = err.Error()
		case next != nil && step.hops == MaxRedirects:
			got.stuck = fmt.Sprintf("it redirects for more than %d times", MaxRedirects)
		case next != nil:
			_ = resp.Body.Close()
			step = next
			continue
		}
		bad := step.finish(ctx, got, resp)
		return got, bad
	}
}

// finish reads the body of the last answer.
func (o *outgoing) finish(ctx context.Context, got *reply, resp *http.Response) *toolapi.Result {
	defer resp.Body.Close()
	if why := resp.Header.Get(wayout.DeniedHeader); why != "" {
		said, err := io.ReadAll(io.LimitReader(resp.Body, wayout.MaxDenialBytes))
		if err != nil {
			said = nil // The reason is in the header too.
		}
		// A server at the end of a tunnel can write this header, too.
		return o.denied(tool.ForeignFailure, resp.StatusCode, why, string(said))
	}
	if o.method == http.MethodHead {
		return nil
	}
	err := got.read(resp)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return o.unanswered(ctx, err)
	case errors.Is(err, errBodyTooLarge):
		r := o.failure(toolapi.CodeTooLarge, "%s answered %d, and its body has more than %d MiB, the most that fetch takes. Nothing of it was kept. "+
			"Ask for a part of it with the header Range.", workspace.Display(o.url.Redacted()), got.status, maxResponseBytes>>20)
		return &r
	case errors.Is(err, errBodyPacked):
		r := o.failure(toolapi.CodeNetwork, "%s answered %d, and its body is not what its Content-Encoding says: it cannot be unpacked. "+
			"Give the header Accept-Encoding: identity.", workspace.Display(o.url.Redacted()), got.status)
		return &r
	}
	r := tool.ForeignFailure(toolapi.CodeNetwork, "%s answered %d, and the connection broke while the body was read: %s.",
		workspace.Display(o.url.Redacted()), got.status, o.plainError(err))
	r.Retryable = o.onlyReads()
	return &r
}

// read reads a body and unpacks it, both within maxResponseBytes.
func (got *reply) read(resp *http.Response) error {
	if resp.ContentLength > maxResponseBytes {
		return errBodyTooLarge
	}
	packed, err := readAtMost(resp.Body, maxResponseBytes)
	if err != nil {
		return err
	}
	var unpacked io.Reader
	switch encoding := strings.ToLower(strings.TrimSpace(strings.Join(resp.Header.Values("Content-Encoding"), ","))); encoding {
	case "", "identity":
		got.body = packed
		return nil
	case "gzip", "x-gzip":
		if len(packed) == 0 {
			return nil
		}
		unpacked, err = gzip.NewReader(bytes.NewReader(packed))
	case "deflate":
		if unpacked, err = zlib.NewReader(bytes.NewReader(packed)); err != nil {
			unpacked, err = flate.NewReader(bytes.NewReader(packed)), nil // Many servers leave the frame out.
		}
	default:
		got.body, got.encoding = packed, encoding
		return nil
	}
	if err == nil {
		got.body, err = readAtMost(unpacked, maxResponseBytes)
	}
	if err != nil && !errors.Is(err, errBodyTooLarge) {
		return errBodyPacked
	}
	return err
}

func readAtMost(r io.Reader, most int64) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(content)) > most {
		return nil, errBodyTooLarge
	}
	return content, err
}

// unanswered is the envelope of a request that got no answer.
func (o *outgoing) unanswered(ctx context.Context, err error) *toolapi.Result {
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		r := o.failure(toolapi.CodeTimeout, "%s did not answer in full within %d seconds. Give it more time with timeoutSeconds (at most %d), "+
			"or ask for less.%s", workspace.Display(o.url.Redacted()), int(o.timeout.Seconds()), int(maxFetchTimeout.Seconds()), o.mayHaveHappened())
		r.Retryable = o.onlyReads()
		return &r
	}
	if ctx.Err() != nil {
		r := tool.Interrupted(ctx, "while it waited for the answer")
		return &r
	}
	if refused, ok := errors.AsType[*wayout.ProxyRefusal](err); ok {
		return o.denied(o.failure, refused.Status, refused.Reason, refused.Body)
	}
	unsent, failure := isCertificateError(err), tool.ForeignFailure // A certificate can have any words in it.
	if op, ok := errors.AsType[*net.OpError](err); ok && (op.Op == "dial" || op.Op == "proxyconnect") {
		unsent, failure = true, o.failure
	}
	warning := ""
	if !unsent {
		warning = o.mayHaveHappened()
	}
	r := failure(toolapi.CodeNetwork, "%s gave no answer: %s.%s", workspace.Display(o.url.Redacted()), o.plainError(err), warning)
	// A host without a valid certificate will not have one in a moment.
	r.Retryable = warning == "" && !isCertificateError(err)
	return &r
}

// failure is the envelope of a request. An address that a redirect led to is the words of a server.
func (o *outgoing) failure(code, format string, args ...any) toolapi.Result {
	if o.hops > 0 {
		return tool.ForeignFailure(code, format, args...)
	}
	return tool.Failure(code, format, args...)
}

// onlyReads reports whether the request may be made again without harm.
func (o *outgoing) onlyReads() bool {
	return slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodOptions}, o.method)
}

// mayHaveHappened warns that the effect of the request is unknown.
func (o *outgoing) mayHaveHappened() string {
	if o.onlyReads() {
		return ""
	}
	return " Whether the server did what it was asked to is not known: find out before you send it again."
}

// plainError is the error of a request without the address, which is reported separately, and without the token for the proxy.
func (o *outgoing) plainError(err error) string {
	if inner, ok := errors.AsType[*url.Error](err); ok {
		err = inner.Err
	}
	return strings.TrimSuffix(workspace.Display(err.Error()), ".")
}

func isCertificateError(err error) bool {
	_, verification := errors.AsType[*tls.CertificateVerificationError](err)
	_, authority := errors.AsType[x509.UnknownAuthorityError](err)
	_, host := errors.AsType[x509.HostnameError](err)
	return verification || authority || host
}

// denied is the envelope of a request that the egress proxy did not carry out. Its text is for the reader of the result.
func (o *outgoing) denied(failure func(code, format string, args ...any) toolapi.Result, status int, why, said string) *toolapi.Result {
	code := toolapi.CodeEgressDenied
	if status >= http.StatusInternalServerError {
		code = toolapi.CodeNetwork // The host could not be reached, or the proxy is not ready.
	}
	r := failure(code, "The egress proxy answered %d (%s) to the request for %s.\n%s", status, plaintext.Bound(why, 64),
		workspace.Display(o.url.Redacted()), strings.TrimSpace(plaintext.Bound(said, wayout.MaxDenialBytes)))
	r.Retryable = status == http.StatusTooManyRequests || code == toolapi.CodeNetwork
	return &r
}
