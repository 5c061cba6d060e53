// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/metrics"
	"motorcortex.dev/motorcortex/internal/metrics/endpoint"
	"motorcortex.dev/motorcortex/internal/metrics/guard"
)

// reviewed counts the tokens that the API server is asked about, and the bytes of the requests.
type reviewed struct {
	next         http.RoundTripper
	tokens, most atomic.Int64
}

func (c *reviewed) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.Contains(r.URL.Path, "tokenreviews") {
		c.tokens.Add(1)
		c.most.Store(max(c.most.Load(), r.ContentLength))
	}
	return c.next.RoundTrip(r)
}

// serveMetrics serves metrics as the manager does, with the manager's rights alone, and returns their address and the count of the tokens that are
// reviewed. The paths of more are served beside them, to those that may get or put them.
func serveMetrics(t *testing.T, more map[string]http.Handler) (string, *reviewed) {
	t.Helper()
	count := &reviewed{}
	cfg := rest.CopyConfig(adminConfig)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: managerUser, Groups: []string{"system:authenticated"}}
	cfg.QPS = -1
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		count.next = next
		return count
	})
	httpClient, err := rest.HTTPClientFor(cfg)
	must(t, err)
	filter, err := guard.Provider(time.Now, slices.Collect(maps.Keys(more))...)(cfg, httpClient)
	must(t, err)
	bounds := endpoint.Default
	// All clients of the tests have one address.
	bounds.Connections = 1024
	server, _, err := endpoint.New(t.Context(), endpoint.Options{
		Address: "127.0.0.1:0", Secure: true, Gatherer: ctrlmetrics.Registry, Others: more, Filter: filter, Logger: slog.New(slog.DiscardHandler),
	}, bounds)
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
	return "https://" + server.Listener.Addr().String() + endpoint.Path, count
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
	url, _ := serveMetrics(t, nil)
	// The server makes its certificate itself.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
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

// A Pod without any right can send tokens. It must not load the API server with them.
func TestMetricsPortBoundsWhatStrangersCost(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	url, count := serveMetrics(t, nil)
	var refused atomic.Int64
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
			defer transport.CloseIdleConnections()
			for j := range 6 {
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
				if err != nil {
					t.Error(err)
					return
				}
				req.Header.Set("Authorization", fmt.Sprintf("Bearer %d-%d-%s", i, j, strings.Repeat("x", []int{20, 900 << 10}[j%2])))
				answer, err := (&http.Client{Transport: transport}).Do(req)
				if err != nil {
					t.Error(err)
					return
				}
				if err := answer.Body.Close(); err != nil {
					t.Error(err)
				}
				if answer.StatusCode == http.StatusTooManyRequests || answer.StatusCode == http.StatusRequestHeaderFieldsTooLarge {
					refused.Add(1)
				}
			}
		})
	}
	began := time.Now()
	all.Wait()
	// An address has five tokens at once and one more each second.
	if n, most := count.tokens.Load(), 6+int64(time.Since(began)/time.Second); n > most || n == 0 {
		t.Errorf("%d tokens were reviewed, want %d at most", n, most)
	}
	if most := count.most.Load(); most > 16<<10 {
		t.Errorf("a review had %d bytes", most)
	}
	if n := refused.Load(); n < 48 {
		t.Errorf("%d of 96 requests were refused at once", n)
	}
}

// The gauges follow the caches of a manager: of one namespace, and of a few.
func TestRunsAreShownAsTheCacheHasThem(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns, other := newNamespace(ctx, t), newNamespace(ctx, t)
	for name, namespaces := range map[string]map[string]cache.Config{"one namespace": {ns: {}}, "two namespaces": {ns: {}, other: {}}} {
		to := prometheus.NewRegistry()
		shown, err := cache.New(adminConfig, cache.Options{Scheme: admin.Scheme(), DefaultNamespaces: namespaces})
		must(t, err)
		runs, err := metrics.RegisterRuns(to, false, time.Now)
		must(t, err)
		informer, err := shown.GetInformer(ctx, &v1alpha1.MotorRun{})
		must(t, err)
		_, err = informer.AddEventHandler(runs)
		must(t, err)
		must(t, metrics.RegisterObjects(to, shown, time.Now, slog.New(slog.DiscardHandler)))
		going, cancel := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() { ended <- shown.Start(going) }()
		await := func(what, want string) {
			t.Helper()
			text := ""
			err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
				text = exposed(t, to)
				return strings.Contains(text, want), nil
			})
			if err != nil {
				t.Fatalf("%s: after %s the metrics lack %s:\n%s", name, what, want, text)
			}
		}
		run := createRun(ctx, t, ns)
		await("a run was created", `motorcortex_runs{reason="none",state="pending"} 1`)
		before := run.DeepCopy()
		now := metav1.Now()
		for _, c := range []string{v1alpha1.ConditionFinished, v1alpha1.ConditionSucceeded} {
			run.Status.Conditions = append(run.Status.Conditions, metav1.Condition{
				Type: c, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonCompleted, LastTransitionTime: now,
			})
		}
		must(t, manager.Status().Patch(ctx, run, client.MergeFrom(before)))
		await("it ended", `motorcortex_runs{reason="Completed",state="succeeded"} 1`)
		must(t, admin.Create(ctx, &v1alpha1.SandboxPool{ObjectMeta: meta(ns, "pool-"+name[:3])}))
		await("a pool was created", `motorcortex_pool_wanted_sandboxes{namespace="`+ns+`",pool="pool-`+name[:3]+`"} 1`)
		must(t, admin.Delete(ctx, run))
		must(t, wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
			return !strings.Contains(exposed(t, to), "motorcortex_runs{"), nil
		}))
		cancel()
		must(t, <-ended)
	}
}

// exposed returns the metrics of a registry, each as a line.
func exposed(t *testing.T, from prometheus.Gatherer) string {
	t.Helper()
	families, err := from.Gather()
	must(t, err)
	var text strings.Builder
	for _, f := range families {
		_, err := expfmt.MetricFamilyToText(&text, f)
		must(t, err)
	}
	return text.String()
}
