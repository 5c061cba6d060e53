// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// serveMetrics serves metrics as the manager does, with the manager's rights alone, and returns their address.
func serveMetrics(t *testing.T) string {
	t.Helper()
	cfg := rest.CopyConfig(adminConfig)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: managerUser, Groups: []string{"system:authenticated"}}
	httpClient, err := rest.HTTPClientFor(cfg)
	must(t, err)
	server, err := metricsserver.NewServer(metricsserver.Options{
		BindAddress: "127.0.0.1:0", SecureServing: true, FilterProvider: filters.WithAuthenticationAndAuthorization, CertDir: t.TempDir(),
	}, cfg, httpClient)
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("serve metrics: %v", err)
		}
	})
	bound, ok := server.(interface{ GetBindAddr() string })
	if !ok {
		t.Fatal("the server of metrics does not tell its address")
	}
	must(t, wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) { return bound.GetBindAddr() != "", nil }))
	return "https://" + bound.GetBindAddr() + "/metrics"
}

// The rights of config/rbac are those that the manager needs to find out who may read its metrics, and those that a reader needs.
func TestMetricsAreServedToReadersAlone(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	kube, err := kubernetes.NewForConfig(adminConfig)
	must(t, err)
	tokenOf := func(account string) string {
		must(t, admin.Create(ctx, &corev1.ServiceAccount{ObjectMeta: meta(ns, account)}))
		answer, err := kube.CoreV1().ServiceAccounts(ns).CreateToken(ctx, account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		must(t, err)
		return answer.Status.Token
	}
	reader, stranger := tokenOf("prometheus"), tokenOf("stranger")
	must(t, admin.Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: ns}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "motorcortex-metrics-reader"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: ns, Name: "prometheus"}},
	}))
	url := serveMetrics(t)
	// The server makes its certificate itself.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // See above.
	t.Cleanup(transport.CloseIdleConnections)
	get := func(token string) (int, string) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		must(t, err)
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		answer, err := (&http.Client{Transport: transport}).Do(req)
		must(t, err)
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		must(t, err)
		return answer.StatusCode, string(body)
	}
	for name, tt := range map[string]struct {
		token string
		want  int
	}{
		"no token": {"", http.StatusUnauthorized}, "an account without the right": {stranger, http.StatusForbidden},
		// The review of a token that is none reports an error, which the filter takes for one of its own.
		"a wrong token": {"wrong", http.StatusInternalServerError},
	} {
		if status, body := get(tt.token); status != tt.want || strings.Contains(body, "go_goroutines") {
			t.Errorf("%s: %d %.200s, want %d", name, status, body, tt.want)
		}
	}
	if status, body := get(reader); status != http.StatusOK || !strings.Contains(body, "go_goroutines") {
		t.Errorf("a reader gets %d %.200s", status, body)
	}
}
