// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Reader is the ServiceAccount that may read the metrics.
const Reader = "bench-metrics-reader"

const (
	metricsPort = "8443"
	// profilesPort is where a manager serves its profiles that was started with --pprof-bind-address=127.0.0.1:6060.
	profilesPort = "6060"
	// soon is the most that one look at a manager may take.
	soon = time.Minute
	// mostText is the most that a manager may answer.
	mostText = 64 << 20
)

var forwards = regexp.MustCompile(`^Forwarding from (127\.0\.0\.1:\d+) -> `)

// Requests returns the requests that all managers have made to the API server.
func (m *Managers) Requests(ctx context.Context) (Counts, error) {
	sum := Counts{}
	err := m.each(ctx, func(pod string) error {
		counts, _, err := m.metrics(ctx, pod)
		sum.add(counts)
		return err
	})
	return sum, err
}

// Resident returns the bytes of memory of the process of the manager that has most.
func (m *Managers) Resident(ctx context.Context) (most float64, err error) {
	err = m.each(ctx, func(pod string) error {
		_, resident, err := m.metrics(ctx, pod)
		most = max(most, resident)
		return err
	})
	return most, err
}

// Heap collects the garbage of all managers and returns the bytes that are in use: of the manager that has most, and of all together.
func (m *Managers) Heap(ctx context.Context) (most, all float64, err error) {
	err = m.each(ctx, func(pod string) error {
		profile, err := m.get(ctx, pod, profilesPort, "http", "/debug/pprof/heap?gc=1&debug=1", "")
		if err != nil {
			return err
		}
		heap, err := parseHeap(profile)
		most, all = max(most, heap), all+heap
		return err
	})
	return most, all, err
}

func (m *Managers) each(ctx context.Context, do func(pod string) error) error {
	pods, err := m.Pods(ctx)
	if err != nil {
		return err
	}
	if len(pods) == 0 {
		return errors.New("there is no manager")
	}
	for i := range pods {
		if err := do(pods[i].Name); err != nil {
			return fmt.Errorf("manager %s: %w", pods[i].Name, err)
		}
	}
	return nil
}

func (m *Managers) metrics(ctx context.Context, pod string) (Counts, float64, error) {
	token, err := m.readerToken(ctx)
	if err != nil {
		return nil, 0, err
	}
	text, err := m.get(ctx, pod, metricsPort, "https", "/metrics", token)
	if err != nil {
		return nil, 0, err
	}
	return parseMetrics(text)
}

// readerToken returns a token of Reader. A manager asks the API server whether it permits a new one, and remembers the answer for five minutes. So
// one token is used for half of that: the questions about the reader are then in the first of two counts, and not between them.
func (m *Managers) readerToken(ctx context.Context) (string, error) {
	if m.token != "" && time.Since(m.tokenAt) < 150*time.Second {
		return m.token, nil
	}
	token := &authenticationv1.TokenRequest{}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: m.Account, Name: Reader}}
	if err := m.Client.SubResource("token").Create(ctx, account, token); err != nil {
		return "", fmt.Errorf("get a token of %s: %w", Reader, err)
	}
	m.token, m.tokenAt = token.Status.Token, time.Now()
	return m.token, nil
}

// get reads from a port of a Pod. The API server's own proxy takes every token away and reaches no loopback, so the port is forwarded.
func (m *Managers) get(ctx context.Context, pod, port, scheme, path, token string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, soon)
	defer cancel()
	forward := exec.CommandContext(ctx, m.Kubectl, "-n", Namespace, "port-forward", "--address", "127.0.0.1", "pod/"+pod, ":"+port)
	out, err := forward.StdoutPipe()
	if err != nil {
		return "", err
	}
	var said strings.Builder
	forward.Stderr = &said
	if err := forward.Start(); err != nil {
		return "", fmt.Errorf("forward port %s: %w", port, err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	end := func() {
		cancel()
		_ = forward.Wait()
	}
	defer end()
	address := forwards.FindStringSubmatch(line)
	if address == nil {
		end()
		return "", fmt.Errorf("forward port %s: %q %s", port, line, said.String())
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+address[1]+path, http.NoBody)
	if err != nil {
		return "", err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // The manager makes its certificate itself.
	defer transport.CloseIdleConnections()
	answer, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, mostText))
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s of port %s answers %s: %.200s", path, port, answer.Status, body)
	}
	return string(body), err
}
