// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"motorcortex.dev/motorcortex/internal/selftest"
)

// A manager that is not protected is alive and not ready, and goes on as soon as it is.
func TestManagerWaitsForAdmission(t *testing.T) {
	t.Parallel()
	probes, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := probes.Addr().String()
	_ = probes.Close()
	tries := 0
	test := func(context.Context) error {
		tries++
		if tries == 3 {
			return nil
		}
		if tries == 2 {
			for path, want := range map[string]int{"/healthz": http.StatusOK, "/readyz": http.StatusServiceUnavailable} {
				resp, err := http.Get("http://" + address + path)
				if err != nil {
					t.Error(err)
					continue
				}
				_ = resp.Body.Close()
				if resp.StatusCode != want {
					t.Errorf("while it waits %s is %d", path, resp.StatusCode)
				}
			}
		}
		return errors.New("the policy is missing")
	}
	var said strings.Builder
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := awaitAdmission(ctx, test, time.Millisecond, address, slog.New(slog.NewTextHandler(&said, nil))); err != nil {
		t.Fatal(err)
	}
	if tries != 3 || strings.Count(said.String(), "the policy is missing") != 2 {
		t.Errorf("tried %d times and said:\n%s", tries, &said)
	}
}

func TestWaitingForAdmissionEndsWithTheManager(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	never := func(context.Context) error { return errors.New("the policy is missing") }
	if err := awaitAdmission(ctx, never, time.Millisecond, "127.0.0.1:0", slog.New(slog.DiscardHandler)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}

// The manager ends when the self-test fails for certain twice, and not because the API server does not answer.
func TestSelfTestIsRepeated(t *testing.T) {
	t.Parallel()
	gone, away := fmt.Errorf("%w: the policy is missing", selftest.ErrUnprotected), errors.New("refused connection")
	older := fmt.Errorf("%w: they lack a field", selftest.ErrOldSchema)
	for name, tt := range map[string]struct {
		results []error
		ends    bool
		logged  string
	}{
		"protected":              {[]error{nil, nil, nil}, false, ""},
		"gone":                   {[]error{nil, gone, gone}, true, "ends if it does so again"},
		"gone at once":           {[]error{gone, gone}, true, "ends if it does so again"},
		"gone for a moment":      {[]error{gone, nil, gone, nil}, false, "ends if it does so again"},
		"nobody answers":         {[]error{away, away, away, away}, false, "no definite answer"},
		"one of many is certain": {[]error{errors.Join(away, gone), errors.Join(gone, away)}, true, "the policy is missing"},
		"older kinds":            {[]error{older, older}, true, "ends if it does so again"},
		"older kinds, once":      {[]error{older, nil, older, nil}, false, "they lack a field"},
		"gone, away, gone":       {[]error{gone, away, gone}, true, "no definite answer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			var said strings.Builder
			ticks, tests := make(chan time.Time, 1), 0
			watch := &selfTestWatch{
				period: selfTestPeriod,
				test: func(context.Context) error {
					tests++
					return tt.results[tests-1]
				},
				after: func(d time.Duration) <-chan time.Time {
					if d != selfTestPeriod {
						t.Errorf("it waits for %s", d)
					}
					if tests == len(tt.results) {
						cancel()
						return nil
					}
					ticks <- time.Time{}
					return ticks
				},
				log: slog.New(slog.NewTextHandler(&said, nil)),
			}
			err := watch.Start(ctx)
			if (err != nil) != tt.ends || tests != len(tt.results) {
				t.Errorf("after %d of %d tests: error %v", tests, len(tt.results), err)
			}
			if tt.ends && !errors.Is(err, selftest.ErrUnprotected) && !errors.Is(err, selftest.ErrOldSchema) {
				t.Errorf("error %v", err)
			}
			if !strings.Contains(said.String(), tt.logged) || (tt.logged == "" && said.Len() > 0) {
				t.Errorf("it said %q", &said)
			}
		})
	}
	if new(selfTestWatch).NeedLeaderElection() {
		t.Error("a replica that is not the leader does not watch")
	}
}

func TestSelfTestWatchEndsWithTheManager(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	ticks := make(chan time.Time, 1)
	ticks <- time.Time{}
	watch := &selfTestWatch{
		test: func(ctx context.Context) error {
			cancel()
			return ctx.Err()
		},
		after: func(time.Duration) <-chan time.Time { return ticks },
		log:   slog.New(slog.DiscardHandler),
	}
	if err := watch.Start(ctx); err != nil {
		t.Error(err)
	}
}

func TestSelfTestIsWherePodsMayBeCreated(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]options{
		"[system]":          {namespace: "system"},
		"[agents research]": {namespace: "system", namespaces: []string{"agents", "research"}},
	} {
		if got := fmt.Sprint(o.selfTestNamespaces()); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// Each of several tests is made, and what one of them finds for certain is certain.
func TestSelfTestsTogether(t *testing.T) {
	t.Parallel()
	gone := fmt.Errorf("%w: the policy is missing", selftest.ErrUnprotected)
	older := fmt.Errorf("%w: they lack a field", selftest.ErrOldSchema)
	says := func(err error) func(context.Context) error { return func(context.Context) error { return err } }
	for name, tt := range map[string]struct {
		errs    []error
		certain bool
	}{
		"well":                         {[]error{nil, nil}, false},
		"a policy":                     {[]error{gone, nil}, true},
		"the kinds":                    {[]error{nil, older}, true},
		"away, and the kinds":          {[]error{errors.New("away"), older}, true},
		"neither gives a sure answer":  {[]error{errors.New("away"), errors.New("away")}, false},
		"the policy and the kinds too": {[]error{gone, older}, true},
	} {
		err := all(says(tt.errs[0]), says(tt.errs[1]))(t.Context())
		if isCertain(err) != tt.certain {
			t.Errorf("%s: certain is %t of %v", name, isCertain(err), err)
		}
		for _, e := range tt.errs {
			if e != nil && !errors.Is(err, e) {
				t.Errorf("%s: %v is left out of %v", name, e, err)
			}
		}
	}
}

// If the API server cannot mark runs, the log states that and what to do. Otherwise it is silent.
func TestUnmarkedRunsAreToldOf(t *testing.T) {
	t.Parallel()
	with := meta.NewDefaultRESTMapper(nil)
	with.Add(admissionv1.SchemeGroupVersion.WithKind("MutatingAdmissionPolicy"), meta.RESTScopeRoot)
	for _, tt := range []struct {
		mapper meta.RESTMapper
		want   []string
	}{
		{with, nil}, {meta.NewDefaultRESTMapper(nil), []string{"copies of runs are not known", "spec.suspend"}},
		{meta.MultiRESTMapper{away{}}, []string{"cannot be told whether copies", "refused connection"}},
	} {
		var said strings.Builder
		tellUnmarked(tt.mapper, slog.New(slog.NewTextHandler(&said, nil)))
		if (tt.want == nil) != (said.Len() == 0) {
			t.Errorf("%T: %q", tt.mapper, said.String())
		}
		for _, part := range tt.want {
			if !strings.Contains(said.String(), part) {
				t.Errorf("the log does not say %q: %s", part, said.String())
			}
		}
	}
}

// away is the mapper of an API server that does not answer.
type away struct{ meta.RESTMapper }

func (away) RESTMapping(schema.GroupKind, ...string) (*meta.RESTMapping, error) {
	return nil, errors.New("refused connection")
}

func (away) RESTMappings(schema.GroupKind, ...string) ([]*meta.RESTMapping, error) {
	return nil, errors.New("refused connection")
}
