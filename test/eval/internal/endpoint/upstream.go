// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

const maxResponse = 64 << 20

// upstream passes requests on to a model. The key is put in here and goes nowhere else.
type upstream struct {
	client     *http.Client
	url        string
	model, key string
}

// NewUpstream returns an endpoint that asks the model at baseURL, which is everything before /chat/completions.
func NewUpstream(baseURL, model, key string) (*Recorder, error) {
	u, err := url.Parse(baseURL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, fmt.Errorf("EVAL_BASE_URL is %q: it must begin with http:// or https:// and name a host", baseURL)
	}
	if model == "" {
		return nil, errors.New("EVAL_MODEL must name the model")
	}
	up := &upstream{client: &http.Client{}, url: strings.TrimSuffix(baseURL, "/") + "/chat/completions", model: model, key: key}
	return &Recorder{answers: up, runs: map[string]*recorded{}}, nil
}

func (u *upstream) answer(w http.ResponseWriter, r *http.Request, _ request, body []byte) ([]byte, error) {
	res, err := u.ask(r, body)
	if err != nil {
		// The error of a client has the address, and never the key, which is a header.
		http.Error(w, "the model cannot be reached: "+err.Error(), http.StatusBadGateway)
		return nil, err
	}
	defer res.Body.Close()
	for _, name := range []string{"Content-Type", "Retry-After"} {
		if value := res.Header.Get(name); value != "" {
			w.Header().Set(name, value)
		}
	}
	w.WriteHeader(res.StatusCode)
	var kept bytes.Buffer
	// A stream is passed on as it comes: whoever waits for it must see that something comes.
	_, err = io.Copy(io.MultiWriter(flusher{w, http.NewResponseController(w)}, &kept), io.LimitReader(res.Body, maxResponse))
	if err == nil && res.StatusCode != http.StatusOK {
		err = errNotAnswered
	}
	return kept.Bytes(), err
}

// ask names the real model in place of the run.
func (u *upstream) ask(r *http.Request, body []byte) (*http.Response, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return nil, err
	}
	name, err := json.Marshal(u.model)
	if err != nil {
		return nil, err
	}
	fields["model"] = name
	if body, err = json.Marshal(fields); err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(r.Context(), http.MethodPost, u.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if u.key != "" {
		req.Header.Set("Authorization", "Bearer "+u.key)
	}
	return u.client.Do(req)
}

// flusher sends at once what is written.
type flusher struct {
	w       io.Writer
	control *http.ResponseController
}

func (f flusher) Write(p []byte) (int, error) {
	n, err := f.w.Write(p)
	if err == nil {
		// A writer that cannot flush sends all of it at the end, which is right too.
		_ = f.control.Flush()
	}
	return n, err
}
