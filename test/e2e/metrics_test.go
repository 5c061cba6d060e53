// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// metricsReader is the account that reads metrics as that of a Prometheus does.
const metricsReader = "e2e-metrics-reader"

// metricsOf returns the metrics of a Pod of the operator.
func metricsOf(ctx context.Context, pod *corev1.Pod) (string, error) {
	if pod.Labels["app.kubernetes.io/component"] == "manager" {
		return managerMetrics(ctx, pod.Name)
	}
	text, err := suite.clientset.CoreV1().Pods(managerNamespace).ProxyGet("http", pod.Name, "8080", "metrics", nil).DoRaw(ctx)
	return string(text), err
}

// managerMetrics returns the metrics of a manager, as an account with the right reads them.
func managerMetrics(ctx context.Context, pod string) (string, error) {
	token, err := readerToken(ctx)
	if err != nil {
		return "", err
	}
	status, text, err := scrape(ctx, pod, token)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("the metrics of %s: %d %s", pod, status, text)
	}
	return text, err
}

// readerToken returns a token of the account that may read metrics.
func readerToken(ctx context.Context) (string, error) {
	var namespace corev1.Namespace
	if err := suite.client.Get(ctx, client.ObjectKey{Name: suite.namespace}, &namespace); err != nil {
		return "", err
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: suite.namespace, Name: metricsReader}}
	binding := &rbacv1.ClusterRoleBinding{
		// It goes with the namespace.
		ObjectMeta: metav1.ObjectMeta{Name: metricsReader + "-" + suite.namespace, OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "v1", Kind: "Namespace", Name: namespace.Name, UID: namespace.UID,
		}}},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "motorcortex-metrics-reader"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: suite.namespace, Name: metricsReader}},
	}
	for _, o := range []client.Object{account, binding} {
		if err := suite.client.Create(ctx, o); err != nil && !apierrors.IsAlreadyExists(err) {
			return "", err
		}
	}
	return tokenOf(ctx, metricsReader)
}

func tokenOf(ctx context.Context, account string) (string, error) {
	answer, err := suite.clientset.CoreV1().ServiceAccounts(suite.namespace).CreateToken(ctx, account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	return answer.Status.Token, nil
}

var forwards = regexp.MustCompile(`^Forwarding from (127\.0\.0\.1:\d+) -> `)

// scrape reads the metrics of a manager with a token, "" for none. The API server's own proxy takes every token away, so the port is forwarded.
func scrape(ctx context.Context, pod, token string) (status int, text string, err error) {
	ctx, cancel := context.WithTimeout(ctx, soon)
	defer cancel()
	forward := exec.CommandContext(ctx, suite.kubectl, "-n", managerNamespace, "port-forward", "--address", "127.0.0.1", "pod/"+pod, ":8443")
	out, err := forward.StdoutPipe()
	if err != nil {
		return 0, "", err
	}
	var errOut strings.Builder
	forward.Stderr = &errOut
	if err := forward.Start(); err != nil {
		return 0, "", err
	}
	defer func() {
		cancel()
		_ = forward.Wait()
	}()
	line, _ := bufio.NewReader(out).ReadString('\n')
	address := forwards.FindStringSubmatch(line)
	if address == nil {
		cancel()
		_ = forward.Wait()
		return 0, "", fmt.Errorf("forward the port of %s: %q %s", pod, line, errOut.String())
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address[1]+"/metrics", http.NoBody)
	if err != nil {
		return 0, "", err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	// The manager makes its certificate itself.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer transport.CloseIdleConnections()
	answer, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(body), err
}

// The metrics tell how much each model and pool does. Only an account with the right gets them.
func TestMetricsAreForReadersAlone(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	pods, err := managerPods(ctx)
	must(t, err)
	if len(pods) == 0 {
		t.Fatal("there is no manager")
	}
	pod := pods[0].Name
	stranger, err := tokenOf(ctx, "default")
	must(t, err)
	for name, tt := range map[string]struct {
		token string
		want  int
	}{"no token": {"", http.StatusUnauthorized}, "an account without the right": {stranger, http.StatusForbidden}} {
		if status, text, err := scrape(ctx, pod, tt.token); err != nil || status != tt.want {
			t.Errorf("%s: %d %.200s %v, want %d", name, status, text, err, tt.want)
		}
	}
	text, err := managerMetrics(ctx, pod)
	must(t, err)
	for _, name := range []string{"motorcortex_runs{", "motorcortex_loops_limit ", "motorcortex_api_requests_total{", "motorcortex_heartbeat_age_seconds "} {
		if !strings.Contains(text, "\n"+name) {
			t.Errorf("the metrics lack %s", name)
		}
	}
}
