// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/outbound"
	"motorcortex.dev/motorcortex/internal/secret"
	"motorcortex.dev/motorcortex/internal/signal"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func now() time.Time { return noon }

func started() *signal.Signal {
	return &signal.Signal{
		Event: v1alpha1.SignalRunStarted, ID: "u-1/run.started", Source: "/apis/motorcortex.dev/namespaces/ns/motorruns", Subject: "run", Time: noon,
		Data: &signal.Result{Kind: "motor_result", RunID: "run", Namespace: "ns", UID: "u-1", Status: "started"},
	}
}

// newSender is a Sender that gives up early.
func newSender(t *testing.T, transport *http.Transport, caBundle string) *Sender {
	t.Helper()
	s, err := New(transport, caBundle, func(netip.Addr) bool { return false }, now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func serve(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return server.URL
}

func TestASinkGetsACloudEvent(t *testing.T) {
	t.Parallel()
	got := make(chan *http.Request, 1)
	body := make(chan []byte, 1)
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		got <- r
		body <- data
		w.WriteHeader(http.StatusAccepted)
	})
	to := Target{URL: url + "/hook", Authorization: secret.New("Bearer abc")}
	if err := newSender(t, &http.Transport{}, "").Send(t.Context(), to, started()); err != nil {
		t.Fatal(err)
	}
	r := <-got
	if r.Method != http.MethodPost || r.URL.Path != "/hook" || r.Header.Get("Authorization") != "Bearer abc" ||
		!strings.HasPrefix(r.Header.Get("Content-Type"), "application/cloudevents+json") || r.Header.Get("webhook-signature") != "" {
		t.Errorf("%s %s %v", r.Method, r.URL, r.Header)
	}
	e := event.New()
	if err := e.UnmarshalJSON(<-body); err != nil {
		t.Fatal(err)
	}
	if err := e.Validate(); err != nil {
		t.Error(err)
	}
	const data = `{"kind":"motor_result","runId":"run","namespace":"ns","uid":"u-1","status":"started"}`
	if e.ID() != "u-1/run.started" || e.Type() != "dev.motorcortex.run.started" || e.Subject() != "run" || !e.Time().Equal(noon) ||
		e.Source() != "/apis/motorcortex.dev/namespaces/ns/motorruns" || string(e.Data()) != data {
		t.Errorf("%s", e)
	}
}

func TestWhatAnAnswerMeans(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		code   int
		header map[string]string
		reason string
		final  bool
		pause  time.Duration
	}{
		"taken":              {code: 200},
		"taken without body": {code: 204},
		"a bad signal":       {code: 400, reason: "SinkRefuses", final: true},
		"too large":          {code: 413, reason: "SinkRefuses", final: true},
		"another format":     {code: 415, reason: "SinkRefuses", final: true},
		"not valid":          {code: 422, reason: "SinkRefuses", final: true},
		"not authorized":     {code: 401, reason: "SinkRefuses"},
		"forbidden":          {code: 403, reason: "SinkRefuses"},
		"no such path":       {code: 404, reason: "SinkRefuses"},
		"gone":               {code: 410, reason: "SinkRefuses"},
		"redirect":           {code: 307, header: map[string]string{"Location": "/elsewhere"}, reason: "SinkRefuses"},
		"broken":             {code: 500, reason: "SinkUnavailable"},
		"too many":           {code: 429, header: map[string]string{"Retry-After": "7"}, reason: "SinkUnavailable", pause: 7 * time.Second},
		"too many until": {
			code: 429, header: map[string]string{"Retry-After": noon.Add(9 * time.Second).Format(http.TimeFormat)}, reason: "SinkUnavailable", pause: 9 * time.Second,
		},
		"a long pause":       {code: 503, header: map[string]string{"Retry-After": "99999999999999"}, reason: "SinkUnavailable", pause: maxPause},
		"a pause that was":   {code: 503, header: map[string]string{"Retry-After": "-5"}, reason: "SinkUnavailable"},
		"a pause of nothing": {code: 503, header: map[string]string{"Retry-After": "soon"}, reason: "SinkUnavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var elsewhere atomic.Bool
			url := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/elsewhere" {
					elsewhere.Store(true)
					return
				}
				for k, v := range tt.header {
					w.Header().Set(k, v)
				}
				w.WriteHeader(tt.code)
				if tt.code != http.StatusNoContent {
					_, _ = io.WriteString(w, "s3cret words of the sink")
				}
			})
			err := newSender(t, &http.Transport{}, "").Send(t.Context(), Target{URL: url}, started())
			f, _ := errors.AsType[*Failure](err)
			if (tt.reason == "") != (err == nil) || err != nil && (f.Reason != tt.reason || f.Final != tt.final || f.Pause != tt.pause) {
				t.Errorf("got %#v", err)
			}
			if err != nil && (strings.Contains(f.Message, "s3cret") || !strings.Contains(f.Message, "status")) {
				t.Errorf("the message is %q", f.Message)
			}
			if elsewhere.Load() {
				t.Error("the redirect was followed")
			}
		})
	}
}

// The status of a MotorCortex does not tell which services and paths there are inside of the cluster: all answers of a class have one message.
func TestASinkInsideOfTheClusterHasNoCodeInItsFailure(t *testing.T) {
	t.Parallel()
	messages := map[string]map[string]bool{}
	for _, code := range []int{http.StatusFound, 400, 401, 403, 404, 405, 410, 413, 422, 429, 500, 501, 503} {
		url := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
		s, err := New(&http.Transport{}, "", func(a netip.Addr) bool { return a.IsLoopback() }, now)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		// The second delivery is by the connection of the first.
		for range 2 {
			f, ok := errors.AsType[*Failure](s.Send(t.Context(), Target{URL: url}, started()))
			if !ok {
				t.Fatalf("%d is taken", code)
			}
			if messages[f.Reason] == nil {
				messages[f.Reason] = map[string]bool{}
			}
			messages[f.Reason][f.Message] = true
			if strings.ContainsAny(f.Message, "0123456789") {
				t.Errorf("%d: %q", code, f.Message)
			}
		}
	}
	if len(messages) != 2 || len(messages[v1alpha1.ReasonSinkRefuses]) != 1 || len(messages[v1alpha1.ReasonSinkUnavailable]) != 1 {
		t.Errorf("the messages are %v", messages)
	}
}

// A Secret that no header can have is named as the cause, and not shown.
func TestAnAuthorizationThatIsNone(t *testing.T) {
	t.Parallel()
	url := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the sink was reached") })
	err := newSender(t, &http.Transport{}, "").Send(t.Context(), Target{URL: url, Authorization: secret.New("Bearer s3\ncret")}, started())
	if f, ok := errors.AsType[*Failure](err); !ok || f.Final || !strings.Contains(f.Message, "authorization") || strings.Contains(f.Message, "cret\n") {
		t.Errorf("got %#v", err)
	}
}

func TestASinkThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	block := make(chan struct{})
	hang := serve(t, func(http.ResponseWriter, *http.Request) { <-block })
	t.Cleanup(func() { close(block) })
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead := "http://" + listener.Addr().String()
	_ = listener.Close()
	closing := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_ = c.Close()
		}
	})
	for name, tt := range map[string]struct{ url, says string }{
		"slow":    {hang, "did not answer within"},
		"dead":    {dead, "cannot be reached"},
		"closing": {closing, "cannot be reached"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSender(t, &http.Transport{}, "")
			s.client.Timeout = 200 * time.Millisecond
			if name != "slow" {
				s.client.Timeout = timeout
			}
			err := s.Send(t.Context(), Target{URL: tt.url}, started())
			f, ok := errors.AsType[*Failure](err)
			if !ok || f.Reason != v1alpha1.ReasonSinkUnavailable || f.Final || !strings.Contains(f.Message, tt.says) || strings.Contains(f.Message, "127.0.0.1") {
				t.Errorf("got %#v", err)
			}
		})
	}
}

// An answer without end costs neither memory nor time.
func TestAnAnswerWithoutEnd(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		for chunk := make([]byte, 32<<10); r.Context().Err() == nil; {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	})
	if err := newSender(t, &http.Transport{}, "").Send(t.Context(), Target{URL: url}, started()); err != nil {
		t.Errorf("got %v", err)
	}
}

func TestAManagerThatStopsIsNoFailureOfTheSink(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	url := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		// A server sees the end of a connection only after it has read the request.
		_, _ = io.Copy(io.Discard, r.Body)
		cancel()
		<-r.Context().Done()
	})
	if err := newSender(t, &http.Transport{}, "").Send(ctx, Target{URL: url}, started()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// The manager does not connect with itself, or with whatever else a namespace must not reach through it.
func TestTheAddressIsJudged(t *testing.T) {
	t.Parallel()
	url := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the sink was reached") })
	guard := &outbound.Guard{Cluster: true, Networks: func(context.Context) (outbound.Networks, error) { return outbound.Networks{}, nil }}
	err := newSender(t, guard.Transport(), "").Send(t.Context(), Target{URL: url}, started())
	if f, ok := errors.AsType[*Failure](err); !ok || !strings.Contains(f.Message, "does not connect with") {
		t.Errorf("got %v", err)
	}
}

func TestAuthoritiesOfASink(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	bundle := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	if err := newSender(t, &http.Transport{}, bundle).Send(t.Context(), Target{URL: server.URL}, started()); err != nil {
		t.Errorf("with its authority: %v", err)
	}
	err := newSender(t, &http.Transport{}, "").Send(t.Context(), Target{URL: server.URL}, started())
	if f, ok := errors.AsType[*Failure](err); !ok || !strings.Contains(f.Message, "caBundle") {
		t.Errorf("without it: %v", err)
	}
	if _, err := New(&http.Transport{}, "no PEM", nil, now); err == nil {
		t.Error("a bundle without a certificate is taken")
	}
}
