// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
)

// answers is ready when an address on the node's loopback answers with success.
func (c *Cluster) answers(url string) func(context.Context) error {
	// The components sign these certificates themselves, and nothing secret is asked or told.
	client := c.client(&tls.Config{InsecureSkipVerify: true})
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer func() { _ = response.Body.Close() }()
		if response.StatusCode != http.StatusOK {
			body, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10)) // only explains the status
			return fmt.Errorf("%s answers %s: %s", url, response.Status, body)
		}
		return nil
	}
}

// listens is ready when something accepts connections at an address inside.
func (c *Cluster) listens(address string) func(context.Context) error {
	return func(ctx context.Context) error {
		conn, err := c.namespace().DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		return conn.Close()
	}
}

// holderReady is ready when the process has made its namespaces and become the holder.
func (c *Cluster) holderReady(context.Context) error {
	id, alive := c.running(holderName)
	if !alive {
		return errEnded
	}
	program, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(id.PID), "exe"))
	if err != nil {
		return err
	}
	if filepath.Base(program) != "pause" {
		return errors.New("it is still setting up the namespaces")
	}
	return nil
}

func (c *Cluster) apiReady(ctx context.Context) error {
	api, err := c.api()
	if err != nil {
		return err
	}
	var answer struct{}
	// A successful answer is the word "ok", which is not JSON: only a refusal is an error here.
	var refused *statusError
	if err := api.get(ctx, "/readyz", nil); errors.As(err, &refused) {
		return fmt.Errorf("not ready: %w", err)
	} else if err != nil {
		return err
	}
	return api.get(ctx, "/api/v1/namespaces/kube-system", &answer)
}

func (c *Cluster) containerdReady(ctx context.Context) error {
	return c.ctr(ctx, nil, "version")
}

// nodeRegistered is ready when the kubelet runs and the API server knows the node, which kube-proxy
// and kube-router want to look up when they start.
func (c *Cluster) nodeRegistered(ctx context.Context) error {
	if err := c.answers("http://127.0.0.1:10248/healthz")(ctx); err != nil {
		return err
	}
	api, err := c.api()
	if err != nil {
		return err
	}
	var node struct{}
	return api.get(ctx, "/api/v1/nodes/"+nodeName, &node)
}

// forwardReady asks the API server through the forwarder, as programs on the machine do.
func (c *Cluster) forwardReady(ctx context.Context) error {
	api, err := c.api()
	if err != nil {
		return err
	}
	port := strconv.Itoa(c.record.HostPort)
	api.http.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, net.JoinHostPort("127.0.0.1", port))
	}
	return api.get(ctx, "/readyz", nil)
}
