// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bytes"
	"crypto/tls"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"motorcortex.dev/motorcortex/internal/loglevel"
)

// The role of config/rbac is what an account needs, and the right to read metrics is not enough.
func TestTheLevelOfTheLogIsSetByAccountsWithTheRightAlone(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	kube, err := kubernetes.NewForConfig(adminConfig)
	must(t, err)
	tokenOf := func(role string) string {
		must(t, admin.Create(ctx, &corev1.ServiceAccount{ObjectMeta: meta(ns, role)}))
		must(t, admin.Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: ns + "-" + role}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: ns, Name: role}},
		}))
		answer, err := kube.CoreV1().ServiceAccounts(ns).CreateToken(ctx, role, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		must(t, err)
		return answer.Status.Token
	}
	reader, operator := tokenOf("motorcortex-metrics-reader"), tokenOf("motorcortex-log-level")
	level := &slog.LevelVar{}
	url, _ := serveMetrics(t, map[string]http.Handler{
		loglevel.Path: loglevel.Server{Level: level, Log: slog.New(slog.NewTextHandler(&bytes.Buffer{}, nil))},
	})
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	t.Cleanup(transport.CloseIdleConnections)
	for _, tt := range []struct {
		name, method, path, token string
		status                    int
		level                     slog.Level
	}{
		{"a reader of metrics puts", http.MethodPut, loglevel.Path, reader, http.StatusForbidden, slog.LevelInfo},
		{"a reader of metrics gets", http.MethodGet, loglevel.Path, reader, http.StatusForbidden, slog.LevelInfo},
		{"the operator puts", http.MethodPut, loglevel.Path, operator, http.StatusOK, slog.LevelDebug},
		{"the operator gets", http.MethodGet, loglevel.Path, operator, http.StatusOK, slog.LevelDebug},
		{"the operator gets metrics", http.MethodGet, "/metrics", operator, http.StatusForbidden, slog.LevelDebug},
		{"a reader still reads", http.MethodGet, "/metrics", reader, http.StatusOK, slog.LevelDebug},
		{"without a token", http.MethodPut, loglevel.Path, "", http.StatusUnauthorized, slog.LevelDebug},
	} {
		req, err := http.NewRequestWithContext(ctx, tt.method, strings.TrimSuffix(url, "/metrics")+tt.path, strings.NewReader("debug"))
		must(t, err)
		if tt.token != "" {
			req.Header.Set("Authorization", "Bearer "+tt.token)
		}
		answer, err := (&http.Client{Transport: transport}).Do(req)
		must(t, err)
		must(t, answer.Body.Close())
		if answer.StatusCode != tt.status || level.Level() != tt.level {
			t.Errorf("%s: %d and the level is %s, want %d and %s", tt.name, answer.StatusCode, level.Level(), tt.status, tt.level)
		}
	}
}
