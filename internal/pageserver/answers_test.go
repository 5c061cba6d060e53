// SPDX-License-Identifier: Apache-2.0

package pageserver

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/pageserver/oidc"
	"motorcortex.dev/motorcortex/internal/serving/answers"
	"motorcortex.dev/motorcortex/test/oidcissuer"
)

// A list of objects that are as large as objects can be is read in parts, none of which takes the memory of the server.
func TestAListOfLargeObjectsIsReadInParts(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var asked []int
	large := strings.Repeat("x", 1<<20)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		size, err := strconv.Atoi(r.URL.Query().Get("limit"))
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		asked = append(asked, size)
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"apiVersion":"motorcortex.dev/v1alpha1","kind":"SkillList","metadata":{"continue":"more"},"items":[`)
		for i := range size {
			if i > 0 {
				fmt.Fprint(w, ",")
			}
			if _, err := fmt.Fprintf(w, `{"metadata":{"name":"s","annotations":{"a":%q}}}`, large); err != nil {
				return // What is too much is not read.
			}
		}
		fmt.Fprint(w, "]}")
	}))
	defer api.Close()
	s := newServer(t)
	s.reads(api.URL)
	p, err := s.personOf("k", &oidc.Session{User: "dana"})
	if err != nil {
		t.Fatal(err)
	}
	list := &v1alpha1.SkillList{}
	if err := p.client.List(t.Context(), list, client.Limit(50)); err != nil {
		t.Fatal(err)
	}
	if want := []int{50, 25, 12, 6}; !slices.Equal(asked, want) || len(list.Items) != 6 || list.Continue != "more" {
		t.Errorf("lists of %d were asked for, want %d; %d objects are there, and %q", asked, want, len(list.Items), list.Continue)
	}
}

// reads has the server read Skills from an address.
func (s *Server) reads(address string) {
	mapper := apimeta.NewDefaultRESTMapper([]schema.GroupVersion{v1alpha1.GroupVersion})
	mapper.Add(v1alpha1.GroupVersion.WithKind("Skill"), apimeta.RESTScopeNamespace)
	s.config.Host, s.mapper = address, mapper
}

// loggedIn is the cookie of a person who has logged in.
func loggedIn(t *testing.T, s *Server, issuer *oidcissuer.Issuer) *http.Cookie {
	t.Helper()
	issuer.LogIn("https://motor.example.org"+oidc.PathCallback, map[string]any{"sub": "dana"})
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "https://motor.example.org"+oidc.PathLogin, http.NoBody))
	c := *issuer.Client()
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.Header().Get("Location"), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	back, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = back.Body.Close()
	r = httptest.NewRequestWithContext(t.Context(), http.MethodGet, back.Header.Get("Location"), http.NoBody)
	r.AddCookie(w.Result().Cookies()[0])
	w = httptest.NewRecorder()
	s.ServeHTTP(w, r)
	cookies := w.Result().Cookies()
	if w.Code != http.StatusSeeOther || len(cookies) != 2 {
		t.Fatalf("the login ends with %d and %v", w.Code, cookies)
	}
	return cookies[1]
}

// A request of the page holds its turn from its first large answer to its end, and one without such an answer holds none.
func TestARequestOfThePageHoldsItsTurn(t *testing.T) {
	t.Parallel()
	issuer := oidcissuer.New(t)
	s := newServer(t, func(o *oidc.Options) {
		o.Issuer, o.ClientID, o.SecretFile, o.HTTP = issuer.URL, oidcissuer.ClientID, filepath.Join(t.TempDir(), "secret"), issuer.Client()
		if err := os.WriteFile(o.SecretFile, []byte(oidcissuer.Secret), 0o600); err != nil {
			t.Fatal(err)
		}
	})
	sizes, begun, goOn := make(chan int, 1), make(chan struct{}), make(chan struct{})
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user := r.Header.Get("Impersonate-User"); user != "dana" {
			t.Errorf("it reads as %q", user)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"apiVersion":"motorcortex.dev/v1alpha1","kind":"SkillList","metadata":{},"items":[{"metadata":{"name":"s","annotations":{"a":%q}}}`, strings.Repeat("x", <-sizes))
		_ = http.NewResponseController(w).Flush()
		begun <- struct{}{}
		<-goOn
		fmt.Fprint(w, "]}")
	}))
	defer api.Close()
	s.reads(api.URL)
	cookie := loggedIn(t, s, issuer)
	for _, size := range []int{100, 2 << 20} {
		ended := make(chan int, 1)
		sizes <- size
		go func() {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "https://motor.example.org/api/skills", http.NoBody)
			r.AddCookie(cookie)
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			ended <- w.Code
		}()
		<-begun
		held := func() bool { return !s.turns.Free(turns) }
		for over := time.Now().Add(time.Minute); size > answers.Small && !held(); {
			if time.Now().After(over) {
				t.Fatalf("a request with an answer of %d bytes holds no turn", size)
			}
			runtime.Gosched()
		}
		if size < answers.Small && held() {
			t.Errorf("a request with an answer of %d bytes holds a turn", size)
		}
		goOn <- struct{}{}
		if status := <-ended; status != http.StatusOK || held() {
			t.Errorf("an answer of %d bytes: status %d, and the turn is held: %t", size, status, held())
		}
	}
}
