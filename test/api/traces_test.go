// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	collectorv1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/journal"
	"motorcortex.dev/motorcortex/internal/telemetry/collector"
	"motorcortex.dev/motorcortex/internal/telemetry/export"
)

// collected are the spans that a collector got, by name, with their ids.
type collected struct {
	mu    sync.Mutex
	spans map[string]string
}

func (c *collected) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var request collectorv1.ExportTraceServiceRequest
	if err != nil || proto.Unmarshal(body, &request) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, of := range request.GetResourceSpans() {
		for _, s := range of.GetScopeSpans()[0].GetSpans() {
			c.spans[s.GetName()] = string(s.GetTraceId()) + string(s.GetSpanId())
		}
	}
}

// names are those of the spans that were collected.
func (c *collected) names() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []string
	for name := range c.spans {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// unobserved counts nothing.
type unobserved struct{}

func (unobserved) SpansSent(int)    {}
func (unobserved) SpansRefused(int) {}
func (unobserved) RunLost()         {}
func (unobserved) ExportFailed()    {}

// exportTraces sends the spans of a namespace to a collector of its own, until the function is called.
func exportTraces(ctx context.Context, t *testing.T, ns string) (*collected, func()) {
	t.Helper()
	got := &collected{spans: map[string]string{}}
	server := httptest.NewServer(got)
	shown, err := cache.New(adminConfig, cache.Options{Scheme: admin.Scheme(), DefaultNamespaces: map[string]cache.Config{ns: {}}})
	must(t, err)
	to := collector.New(&collector.Config{URL: server.URL, Timeout: 10 * time.Second})
	leases, err := coordinationv1client.NewForConfig(adminConfig)
	must(t, err)
	e := &export.Exporter{
		Cache: shown, Live: admin, Sender: to, Observer: unobserved{}, Now: time.Now, Leases: leases.Leases(ns), Logger: slog.New(slog.DiscardHandler),
	}
	e.Init()
	going, cancel := context.WithCancel(ctx)
	ended := make(chan error, 2)
	go func() { ended <- shown.Start(going) }()
	go func() { ended <- e.Start(going) }()
	return got, func() {
		cancel()
		for range 2 {
			must(t, <-ended)
		}
		to.Close()
		server.Close()
	}
}

// await waits until the collector has these spans and no others.
func (c *collected) await(ctx context.Context, t *testing.T, what string, want ...string) {
	t.Helper()
	slices.Sort(want)
	err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return slices.Equal(c.names(), want), nil
	})
	if err != nil {
		t.Fatalf("after %s the collector has %q, want %q", what, c.names(), want)
	}
}

// Spans are sent as the watch shows what they follow from. Another process sends the same ones under the same ids.
func TestSpansAreSentWhileARunGoes(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	got, stop := exportTraces(ctx, t, ns)
	run := createRun(ctx, t, ns)
	begun := metav1.NewTime(time.Now().Add(-time.Minute))
	was := run.DeepCopy()
	run.Status.Attempts = []v1alpha1.AttemptStatus{{Index: 1, StartTime: &begun}}
	must(t, manager.Status().Patch(ctx, run, client.MergeFrom(was)))
	s := bareStep(ns, journal.StepName(run.Name, 1, 1), func(s *v1alpha1.MotorStepSpec) {
		s.Model, s.ModelMilliseconds, s.ToolCalls = "m", 100, []v1alpha1.ToolCall{{ID: "c0", Tool: "bash", Arguments: `{"command":"make"}`}}
	})
	s.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(run, v1alpha1.GroupVersion.WithKind("MotorRun"))}
	must(t, manager.Create(ctx, s))
	before := s.DeepCopy()
	s.Status.Phase, s.Status.Results = v1alpha1.StepSettled, []v1alpha1.ToolResult{{CallID: "c0", OK: true, Provenance: "User"}}
	must(t, manager.Status().Patch(ctx, s, client.MergeFrom(before)))
	steps := []string{"chat m", "execute_tool bash", "step 1"}
	got.await(ctx, t, "the step was settled", steps...)
	// It ended some time ago, so it is told at once.
	ended := metav1.NewTime(time.Now().Add(-30 * time.Second))
	was = run.DeepCopy()
	run.Status.CompletionTime = &ended
	must(t, manager.Status().Patch(ctx, run, client.MergeFrom(was)))
	all := slices.Concat(steps, []string{"attempt 1", "invoke_agent " + run.Name})
	got.await(ctx, t, "the run ended", all...)
	stop()
	again, stop := exportTraces(ctx, t, ns)
	defer stop()
	again.await(ctx, t, "another process began", all...)
	for name, id := range got.spans {
		if again.spans[name] != id {
			t.Errorf("the span %q has another id", name)
		}
	}
}
