// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"motorcortex.dev/motorcortex/internal/jsonbound"
)

// probeTimeout bounds a Probe. A list of models is cheap: an endpoint that needs longer is as good as unavailable.
const probeTimeout = 10 * time.Second

// listLimits bound a list of models: the endpoints that serve most have some thousands.
var listLimits = jsonbound.Limits{Depth: 64, Values: 64 << 10}

// Probe asks the endpoint for its list of models, which costs no tokens, and reports whether the model is on it. An endpoint without such a
// list, that hides it from this key (403), or that sends an unreadable one, counts as listing the model: it answers. The error is
// ctx's if ctx ended, and otherwise an *outcome.Failure. A probe is tried once, and does not affect other clients of the endpoint.
func (c *Client) Probe(ctx context.Context) (listed bool, err error) {
	within, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	status, body, err := c.models(within)
	switch {
	case err != nil:
		err = c.classify(ctx, within, err)
	case status >= 200 && status <= 299:
		return lists(body, c.endpoint.Model), nil
	case !failsProbe(status):
		return true, nil
	default:
		err = c.statusClass(status, body)
	}
	if e, ok := errors.AsType[*tryError](err); ok {
		return false, c.failure(e, 1)
	}
	return false, err
}

// failsProbe reports whether a status shows that the endpoint cannot be used. Every other status is about the list of models alone.
func failsProbe(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return true
	case http.StatusNotImplemented:
		return false
	}
	return status < 400 || status >= 500
}

func (c *Client) models(ctx context.Context) (status int, body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(c.endpoint.BaseURL, "/")+"/models", http.NoBody)
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Accept", "application/json")
	if !c.endpoint.APIKey.IsEmpty() {
		req.Header.Set("Authorization", "Bearer "+c.endpoint.APIKey.RevealText())
	}
	res, err := c.opts.HTTPClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	body, err = io.ReadAll(io.LimitReader(res.Body, maxResponseBytes))
	return res.StatusCode, body, err
}

// lists reports whether a list of models has the model, or cannot be read.
func lists(body []byte, model string) bool {
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if jsonbound.Check(body, listLimits) != nil || json.Unmarshal(body, &list) != nil || len(list.Data) == 0 {
		return true
	}
	for _, m := range list.Data {
		if m.ID == model {
			return true
		}
	}
	return false
}
