// SPDX-License-Identifier: Apache-2.0

package attempt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cortex"
	"motorcortex.dev/motorcortex/internal/engine/redacting"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

const searchKey = "search-key-0123456789"

// searchReader has the MotorCortex and the Secret of a namespace with a search provider, or fails.
type searchReader struct {
	client.Client
	cortex *v1alpha1.MotorCortex
	key    string
	err    error
}

func (r searchReader) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	if r.err != nil {
		return r.err
	}
	switch o := o.(type) {
	case *v1alpha1.MotorCortex:
		if r.cortex != nil {
			r.cortex.DeepCopyInto(o)
			return nil
		}
	case *corev1.Secret:
		if key.Namespace == "ns" && key.Name == "keys" && r.key != "" {
			o.Data = map[string][]byte{"brave": []byte(r.key + "\n")}
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

// searchFor makes the searcher of a run whose provider is Brave's API at a test server.
func searchFor(t *testing.T, secret searchReader, answer http.HandlerFunc) (s *searcher, log *bytes.Buffer) {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	log = &bytes.Buffer{}
	return &searcher{
		keys: cortex.Resolver{Secrets: secret},
		env: &runenv.Env{
			Clock: runenv.Clock{Now: time.Now}, Run: &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns"}}, Known: &redacting.Secrets{},
			Log: slog.New(slog.NewTextHandler(log, nil)),
		},
		provider: &v1alpha1.SearchProvider{Type: v1alpha1.SearchBrave, URL: server.URL, APIKeySecretRef: &v1alpha1.SecretKeyRef{Name: "keys", Key: "brave"}},
	}, log
}

func TestSearch(t *testing.T) {
	t.Parallel()
	var counts []string
	s, log := searchFor(t, searchReader{key: searchKey}, func(w http.ResponseWriter, r *http.Request) {
		counts = append(counts, r.URL.Query().Get("count"))
		// A provider that returns the key does not pass it to a model.
		fmt.Fprintf(w, `{"web":{"results":[{"title":%q,"url":"https://example.org/","description":%q}]}}`,
			r.URL.Query().Get("q"), "token="+r.Header.Get("X-Subscription-Token"))
	})
	for _, arguments := range []string{`{"query":" two\n words "}`, `{"query":"two words","limit":3}`, `{"query":"two words","limit":99}`} {
		got, err := s.Search(t.Context(), arguments)
		want := toolapi.Result{
			OK: true, Provenance: toolapi.ProvenanceWeb, DurationMs: got.DurationMs,
			Output: "1. two words\n   https://example.org/\n   token=<credential:search-api-key>\n",
		}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", arguments, err, diff)
		}
	}
	if diff := cmp.Diff([]string{"10", "3", "20"}, counts); diff != "" {
		t.Errorf("so many results were asked for (-want +got):\n%s", diff)
	}
	if strings.Contains(log.String(), "two words") || strings.Contains(log.String(), searchKey) {
		t.Errorf("the log says\n%s", log)
	}
}

func TestSearchTrouble(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		secret     searchReader
		arguments  string
		answer     http.HandlerFunc
		code, says string
		retryable  bool
	}{
		"no words":           {arguments: `{"query":" \n"}`, code: "invalid_arguments", says: "the query is empty"},
		"a long query":       {arguments: `{"query":"` + strings.Repeat("ä", 401) + `"}`, code: "invalid_arguments", says: "401 characters: 400 at most"},
		"another argument":   {arguments: `{"query":"q","engine":"x"}`, code: "invalid_arguments", says: "unknown field"},
		"no Secret":          {code: "search_failed", says: "The search provider is not set up. The Secret keys with the search provider's API key does not exist in namespace ns."},
		"an empty key":       {secret: searchReader{key: " "}, code: "search_failed", says: "has no value under the key brave"},
		"no API server":      {secret: searchReader{err: errors.New("away")}, code: "search_failed", says: "could not be read", retryable: true},
		"a key that is none": {secret: searchReader{key: searchKey}, code: "search_failed", says: "refused (status 401): check the API key", answer: status(401)},
		"a broken provider":  {secret: searchReader{key: searchKey}, code: "search_failed", says: "failed (status 500)", answer: status(500), retryable: true},
		"no answer": {
			secret: searchReader{key: searchKey}, code: "network_error", says: "cannot be reached: EOF", retryable: true,
			answer: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.arguments == "" {
				tt.arguments = `{"query":"q"}`
			}
			s, _ := searchFor(t, tt.secret, func(w http.ResponseWriter, r *http.Request) {
				if tt.answer == nil {
					t.Errorf("the provider was asked %s", r.URL)
					return
				}
				tt.answer(w, r)
			})
			got, err := s.Search(t.Context(), tt.arguments)
			if err != nil || got.OK || got.ErrorCode != tt.code || !strings.Contains(got.Output, tt.says) || got.Retryable != tt.retryable {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(code)
	}
}

// A cancelled loop makes no result of it.
func TestSearchCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s, _ := searchFor(t, searchReader{key: searchKey}, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	if got, err := s.Search(ctx, `{"query":"q"}`); !errors.Is(err, context.Canceled) {
		t.Errorf("got %+v, %v", got, err)
	}
	s, _ = searchFor(t, searchReader{err: errors.New("away")}, nil)
	if got, err := s.Search(ctx, `{"query":"q"}`); !errors.Is(err, context.Canceled) {
		t.Errorf("got %+v, %v", got, err)
	}
}

// The tool is offered only if a searcher is configured.
func TestOpenSearch(t *testing.T) {
	t.Parallel()
	with := &v1alpha1.MotorCortex{Spec: v1alpha1.MotorCortexSpec{Search: &v1alpha1.SearchProvider{Type: v1alpha1.SearchSearXNG, URL: "http://searxng"}}}
	for name, tt := range map[string]struct {
		tools  []v1alpha1.ToolName
		reader searchReader
		want   bool
		failed bool
	}{
		"asked for and there":  {tools: []v1alpha1.ToolName{"bash", "search_web"}, reader: searchReader{cortex: with}, want: true},
		"not asked for":        {tools: []v1alpha1.ToolName{"bash"}, reader: searchReader{err: errors.New("not looked for")}},
		"no provider":          {tools: []v1alpha1.ToolName{"search_web"}, reader: searchReader{cortex: &v1alpha1.MotorCortex{}}},
		"no MotorCortex":       {tools: []v1alpha1.ToolName{"search_web"}},
		"nobody can say today": {tools: []v1alpha1.ToolName{"search_web"}, reader: searchReader{err: errors.New("away")}, failed: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := &v1alpha1.MotorRun{Spec: v1alpha1.MotorRunSpec{Tools: tt.tools}}
			run.Namespace = "ns"
			var loop motorloop.Loop
			a := &Attempt{Host: &Host{}, Env: &runenv.Env{Client: tt.reader, Run: run}}
			err := a.openSearch(t.Context(), &loop)
			if (err != nil) != tt.failed || loop.Config.Search != tt.want || (loop.Search != nil) != tt.want {
				t.Errorf("got %t, %v, %v", loop.Config.Search, loop.Search, err)
			}
		})
	}
}
