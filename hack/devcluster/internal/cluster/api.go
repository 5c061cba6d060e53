// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"motorcortex.dev/motorcortex/hack/devcluster/internal/wait"
)

// requestTimeout bounds one request to a component; waiting is done by repeating them.
const requestTimeout = 5 * time.Second

// apiClient speaks to the API server as the administrator, through the cluster's network. A handful of
// requests is no reason to depend on a client library.
type apiClient struct{ http *http.Client }

func (c *Cluster) api() (apiClient, error) {
	authority, err := os.ReadFile(c.cert("ca"))
	if err != nil {
		return apiClient{}, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authority) {
		return apiClient{}, errors.New("the cluster's certificate authority is unreadable")
	}
	admin, err := tls.LoadX509KeyPair(c.cert("admin"), c.key("admin"))
	if err != nil {
		return apiClient{}, err
	}
	return apiClient{http: c.client(&tls.Config{RootCAs: roots, Certificates: []tls.Certificate{admin}})}, nil
}

// client makes connections that begin inside the cluster's network.
func (c *Cluster) client(config *tls.Config) *http.Client {
	return &http.Client{Timeout: requestTimeout, Transport: &http.Transport{
		DialContext: c.namespace().DialContext, TLSClientConfig: config, DisableKeepAlives: true,
	}}
}

// statusError is the API server's refusal of a request.
type statusError struct {
	code    int
	message string
}

func (e *statusError) Error() string { return e.message }

// get reads the object at a path into into.
func (a apiClient) get(ctx context.Context, path string, into any) error {
	return a.do(ctx, http.MethodGet, path, nil, into)
}

// apply makes the object at a path look as given, whether it exists or not. Its name is the path's.
func (a apiClient) apply(ctx context.Context, path string, content object) error {
	metadata := object{"name": path[strings.LastIndexByte(path, '/')+1:]}
	if given, ok := content["metadata"].(object); ok {
		maps.Copy(metadata, given)
	}
	content = maps.Clone(content)
	content["metadata"] = metadata
	err := a.do(ctx, http.MethodPatch, path+"?fieldManager=devcluster&force=true", content, nil)
	var refused *statusError
	if errors.As(err, &refused) && slices.Contains([]int{http.StatusBadRequest, http.StatusUnprocessableEntity}, refused.code) {
		return wait.Final(err) // the object is wrong, and will be
	}
	return err
}

func (a apiClient) delete(ctx context.Context, path string) error {
	return a.do(ctx, http.MethodDelete, path, nil, nil)
}

func (a apiClient) do(ctx context.Context, method, path string, body, into any) error {
	var content io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(ctx, method, "https://"+apiAddress+path, content)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/apply-patch+yaml")
	response, err := a.http.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(response.Body, 4<<20))
	if err != nil {
		return err
	}
	if response.StatusCode >= http.StatusBadRequest {
		return &statusError{code: response.StatusCode, message: refusal(method, path, response.Status, answer)}
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer, into)
}

// refusal makes one line of the API server's answer.
func refusal(method, path, status string, answer []byte) string {
	var details struct {
		Message string `json:"message"`
	}
	text := strings.TrimSpace(string(answer))
	if json.Unmarshal(answer, &details) == nil && details.Message != "" {
		text = details.Message
	}
	return fmt.Sprintf("%s %s: %s: %s", method, path, status, text)
}
