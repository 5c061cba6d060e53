// SPDX-License-Identifier: Apache-2.0

package toolclient

import (
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"motorcortex.dev/motorcortex/internal/jsonbound"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

const (
	// maxAnswerBytes fits the largest Result with every byte of its output escaped.
	maxAnswerBytes = 6*toolapi.MaxOutputBytes + 64<<10

	shortTimeout  = 5 * time.Second
	cancelTimeout = 15 * time.Second
	fileTimeout   = 30 * time.Second
)

// answerLimits bound an answer. Values below Within are the schema of an MCP server's tool, which is kept as raw JSON.
var answerLimits = jsonbound.Limits{Depth: 256, Values: 64 << 10, Within: 5}

// Errors that end an attempt whose connection exists but is dead.
var (
	errSilent = errors.New("the tool server does not answer")
	errMissed = errors.New("the call is over, and its answer did not come")
)

// Hello asks for the server's identity. The error is ErrWrongPod if it is not the intended Pod.
func (c *Client) Hello(ctx context.Context) (toolapi.Hello, error) {
	var h toolapi.Hello
	err := c.persist(ctx, func(ctx context.Context) (err error) {
		h, err = c.hello(ctx)
		return err
	})
	return h, err
}

// Call runs a tool call and waits for its result.
//
// It survives broken connections and a tool server that restarts. It sends the same call again until it has the
// result, the server has not answered anything for Config.Unreachable, or ctx ends. That cannot run the call twice,
// because the server has a ledger by id: it attaches a repeated call to the existing execution, or returns the
// stored result. If the server died in the middle of the call, the result has the code outcome_unknown.
//
// ErrUnreachable means that the sandbox does not answer now: it may be about to start again, and the same call may be
// repeated then. No error proves whether the call ran; State does. When ctx ends, the call goes on; Cancel ends it.
func (c *Client) Call(ctx context.Context, call toolapi.Call) (toolapi.Result, error) {
	var result toolapi.Result
	err := c.persist(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		if err := c.introduce(ctx); err != nil {
			return err
		}
		body, err := c.encode(call)
		if err != nil {
			return err
		}
		go c.watch(ctx, cancel, call.ID)
		_, err = c.send(ctx, exchange{method: http.MethodPut, path: callPath(call.ID), body: body, into: &result})
		if err != nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return err
	})
	return result, err
}

// watch checks the call from time to time while its request waits for the answer. If the other end of a connection
// vanished silently, the request would otherwise wait for as long as the caller's context allows. The other end may
// be back by now and know the result.
func (c *Client) watch(ctx context.Context, cancel context.CancelCauseFunc, id string) {
	interval := c.cfg.Unreachable / 3
	began, over := time.Now(), false
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(interval):
		}
		var state toolapi.CallState
		_, err := c.send(ctx, exchange{method: http.MethodGet, path: callPath(id), timeout: interval, into: &state})
		switch {
		case errors.Is(err, ErrStaleEpoch), errors.Is(err, ErrServerKeyChanged):
			cancel(err)
			return
		case err != nil && time.Since(c.lastContact(began)) >= c.cfg.Unreachable:
			cancel(errSilent)
			return
		case err == nil && state.Phase != toolapi.CallRunning:
			// At the first such look the answer may still be on its way.
			if over {
				cancel(errMissed)
				return
			}
			over = true
		}
	}
}

// State returns the state of a call without any effect.
func (c *Client) State(ctx context.Context, id string) (toolapi.CallState, error) {
	return c.callState(ctx, exchange{method: http.MethodGet, path: callPath(id), timeout: shortTimeout})
}

// Cancel kills a running call and returns its state. A call that is still running in the answer could not be
// killed within seconds.
func (c *Client) Cancel(ctx context.Context, id string) (toolapi.CallState, error) {
	return c.callState(ctx, exchange{method: http.MethodPost, path: callPath(id) + "/cancel", timeout: cancelTimeout})
}

func (c *Client) callState(ctx context.Context, e exchange) (toolapi.CallState, error) {
	var state toolapi.CallState
	e.into = &state
	if err := c.request(ctx, e); err != nil {
		return toolapi.CallState{}, err
	}
	ended := state.Phase == toolapi.CallFinished || state.Phase == toolapi.CallUnknown
	open := state.Phase == toolapi.CallAbsent || state.Phase == toolapi.CallRunning
	if !ended && !open || ended != (state.Result != nil) {
		return toolapi.CallState{}, fmt.Errorf("%w: phase %q does not go with its result", ErrBadAnswer, plain(string(state.Phase), 32))
	}
	return state, nil
}

// PutFile puts an input file into the workspace. Repeating it is harmless; once a call has started, content that is not
// in the workspace already is refused with toolapi.ErrFileConflict.
func (c *Client) PutFile(ctx context.Context, path string, content []byte) (toolapi.File, error) {
	return c.PutFileFrom(ctx, path, content, toolapi.ProvenanceInternal)
}

// PutFileFrom is PutFile for content with its provenance. With that of the web, everything that the sandbox reads
// from then on counts as coming from there.
func (c *Client) PutFileFrom(ctx context.Context, path string, content []byte, from toolapi.Provenance) (toolapi.File, error) {
	return c.putFile(ctx, exchange{path: filePath(path), body: content, provenance: from})
}

// PutProgram is PutFileFrom for a file that can be run.
func (c *Client) PutProgram(ctx context.Context, path string, content []byte, from toolapi.Provenance) (toolapi.File, error) {
	return c.putFile(ctx, exchange{path: filePath(path), body: content, provenance: from, executable: true})
}

func (c *Client) putFile(ctx context.Context, e exchange) (toolapi.File, error) {
	var file toolapi.File
	e.method, e.timeout, e.into = http.MethodPut, fileTimeout, &file
	err := c.request(ctx, e)
	return file, err
}

// GetFile reads a file of the workspace that has at most toolapi.MaxReadBytes. A RemoteError is why it cannot be read:
// toolapi.ErrNotFound if there is no such regular file, toolapi.ErrTooLarge, toolapi.ErrBadRequest if the path leads out
// of the workspace.
func (c *Client) GetFile(ctx context.Context, path string) ([]byte, error) {
	var file toolapi.FileContent
	if err := c.request(ctx, exchange{method: http.MethodGet, path: filePath(path), timeout: fileTimeout, into: &file}); err != nil {
		return nil, err
	}
	if len(file.Content) > toolapi.MaxReadBytes {
		return nil, fmt.Errorf("%w: a file of %d bytes", ErrBadAnswer, len(file.Content))
	}
	return file.Content, nil
}

// SetEgress sets or removes the egress of the server, and returns the result of its check. Repeating it is
// harmless. Egress that does not work is no error; Ready is false then. No error contains the token or a value.
func (c *Client) SetEgress(ctx context.Context, req toolapi.EgressRequest) (toolapi.EgressResponse, error) {
	var resp toolapi.EgressResponse
	timeout := shortTimeout + time.Duration(req.TimeoutMs)*time.Millisecond
	if err := c.request(ctx, exchange{method: http.MethodPut, path: toolapi.PathEgress, payload: req, timeout: timeout, into: &resp}); err != nil {
		return toolapi.EgressResponse{}, err
	}
	resp.Detail = plain(resp.Detail, 500)
	return resp, nil
}

// Probe makes the server try connections that must not succeed.
func (c *Client) Probe(ctx context.Context, req toolapi.ProbeRequest) (toolapi.ProbeResponse, error) {
	var resp toolapi.ProbeResponse
	timeout := shortTimeout + time.Duration(req.TimeoutMs)*time.Millisecond
	if err := c.request(ctx, exchange{method: http.MethodPost, path: toolapi.PathProbe, payload: req, timeout: timeout, into: &resp}); err != nil {
		return toolapi.ProbeResponse{}, err
	}
	if len(resp.Results) != len(req.Targets) {
		return toolapi.ProbeResponse{}, fmt.Errorf("%w: %d results for %d targets", ErrBadAnswer, len(resp.Results), len(req.Targets))
	}
	for i, r := range resp.Results {
		if r.Name != req.Targets[i].Name {
			return toolapi.ProbeResponse{}, fmt.Errorf("%w: result %d is of %q and not of %s", ErrBadAnswer, i, plain(r.Name, 64), req.Targets[i].Name)
		}
	}
	return resp, nil
}

// request sends a request to the right Pod, and again while it cannot be reached.
func (c *Client) request(ctx context.Context, e exchange) error {
	return c.persist(ctx, func(ctx context.Context) error {
		if err := c.introduce(ctx); err != nil {
			return err
		}
		if !c.Peer().Serves(e.method, e.path) {
			return fmt.Errorf("%w: it does not know the request %s %s", ErrUnsupported, e.method, e.path)
		}
		if e.payload != nil {
			body, err := c.encode(e.payload)
			if err != nil {
				return err
			}
			e.body = body
		}
		_, err := c.send(ctx, e)
		return err
	})
}

// exchange is one request and the destination of its answer.
type exchange struct {
	method, path string
	body         []byte
	// payload is one of toolapi's requests, instead of body.
	payload any
	// timeout bounds the exchange; with 0 only the context does.
	timeout time.Duration
	into    any
	// most is the most bytes that the answer may have; 0 means maxAnswerBytes.
	most int64
	// provenance is sent with body if it is the web.
	provenance toolapi.Provenance
	// executable is sent with body.
	executable bool
}

// send makes one exchange and returns the server's certificate. Errors that are not final are those of the transport.
func (c *Client) send(ctx context.Context, e exchange) ([]*x509.Certificate, error) {
	if e.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, e.timeout)
		defer cancel()
	}
	req, err := http.NewRequestWithContext(ctx, e.method, "https://"+c.cfg.Address+e.path, bytes.NewReader(e.body))
	if err != nil {
		return nil, fmt.Errorf("%w: the request cannot be made: %w", ErrBadAnswer, err)
	}
	req.Header.Set(toolapi.HeaderEpoch, strconv.FormatInt(c.cfg.Epoch, 10))
	if e.provenance == toolapi.ProvenanceWeb {
		req.Header.Set(toolapi.HeaderProvenance, string(e.provenance))
	}
	if e.executable {
		req.Header.Set(toolapi.HeaderExecutable, strconv.FormatBool(true))
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if refused(err) {
			return nil, fmt.Errorf("%w: %w", ErrRefused, err)
		}
		return nil, err
	}
	defer resp.Body.Close()
	most := cmp.Or(e.most, maxAnswerBytes)
	content, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	if err != nil {
		return nil, err
	}
	c.answered()
	if int64(len(content)) > most {
		return nil, fmt.Errorf("%w: it is longer than %d bytes", ErrBadAnswer, most)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, remoteError(resp.StatusCode, content)
	}
	if err := jsonbound.Check(content, answerLimits); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadAnswer, err)
	}
	if err := json.Unmarshal(content, e.into); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadAnswer, err)
	}
	return resp.TLS.PeerCertificates, nil
}

func remoteError(status int, content []byte) error {
	var e toolapi.Error
	if err := json.Unmarshal(content, &e); err != nil || e.Code == "" {
		return fmt.Errorf("%w: status %d without an error code", ErrBadAnswer, status)
	}
	return &RemoteError{Status: status, Code: plain(e.Code, 64), Message: plain(e.Message, 500)}
}

func filePath(path string) string { return toolapi.PathFiles + escapePath(path) }

// escapePath makes a path of the workspace a part of a URL.
func escapePath(path string) string {
	segments := strings.Split(path, "/")
	for i, s := range segments {
		segments[i] = url.PathEscape(s)
	}
	return strings.Join(segments, "/")
}

func callPath(id string) string { return toolapi.PathCalls + url.PathEscape(id) }

// encode encodes the part of a request that the server knows. The error is ErrUnsupported if that omits a required part.
func (c *Client) encode(request any) ([]byte, error) {
	body, missing, err := c.Peer().Encode(request)
	if err != nil {
		return nil, fmt.Errorf("%w: the request cannot be encoded: %w", ErrBadAnswer, err)
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("%w: it does not know %s", ErrUnsupported, strings.Join(missing, ", "))
	}
	return body, nil
}
