// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"motorcortex.dev/motorcortex/pkg/client/clientset/versioned/fake"
	"motorcortex.dev/motorcortex/pkg/client/motor"
)

func aCluster(t *testing.T) (c *Cluster, now *time.Time, stop context.CancelFunc) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	c, err := New(ctx, &rest.Config{Host: "127.0.0.1:1"}, Options{Audience: "mcp"})
	if err != nil {
		t.Fatal(err)
	}
	now = new(time.Unix(1000, 0))
	c.now = func() time.Time { return *now }
	return c, now, stop
}

func aClient(t *testing.T) *motor.Client {
	t.Helper()
	client, err := motor.NewFor(motor.Clients{Motor: fake.NewSimpleClientset()}, "ns")
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func keyOf(user, namespace int) key {
	return key{account{user: fmt.Sprintf("%sns-%d:%d", serviceAccounts, user%8, user), uid: "u"}, fmt.Sprintf("ns-%d", namespace)}
}

// One account cannot take the servers of others, and servers that are not in use make room.
func TestServersAreBounded(t *testing.T) {
	t.Parallel()
	c, now, stop := aCluster(t)
	client := aClient(t)
	first := c.add(keyOf(0, 0), client)
	if first == nil || c.add(keyOf(0, 0), client) != first || c.known(keyOf(0, 0)) != first {
		t.Fatal("a key has two servers")
	}
	for i := 1; i < maxOfAccount; i++ {
		if c.add(keyOf(0, i), client) == nil {
			t.Fatalf("namespace %d of an account is refused", i)
		}
	}
	if c.add(keyOf(0, maxOfAccount), client) != nil {
		t.Error("an account has too many servers")
	}
	for i := maxOfAccount; i < maxServers; i++ {
		if c.add(keyOf(i, 0), client) == nil {
			t.Fatalf("account %d is refused", i)
		}
	}
	if c.add(keyOf(maxServers, 0), client) != nil {
		t.Error("there are too many servers")
	}
	*now = now.Add(unused - 1)
	c.known(keyOf(0, 0))
	*now = now.Add(1)
	if c.add(keyOf(maxServers, 0), client) == nil || len(c.servers) != 2 || c.known(keyOf(0, 0)) != first {
		t.Errorf("%d servers are left of those that are not in use", len(c.servers))
	}
	stop()
	if c.add(keyOf(1, 1), client) != nil {
		t.Error("a server begins after the end")
	}
	if c.Close(); len(c.servers) != 0 {
		t.Errorf("%d servers are left", len(c.servers))
	}
}

// Who may make accounts in one namespace cannot take the servers of others with them.
func TestServersOfANamespacesAccountsAreBounded(t *testing.T) {
	t.Parallel()
	c, _, _ := aCluster(t)
	client := aClient(t)
	of := func(namespace string, number int) key {
		return key{account{user: fmt.Sprintf("%s%s:%d", serviceAccounts, namespace, number), uid: "u"}, "runs"}
	}
	for i := range maxOfHome {
		if c.add(of("many", i), client) == nil {
			t.Fatalf("account %d is refused", i)
		}
	}
	if c.add(of("many", maxOfHome), client) != nil || c.add(of("other", 0), client) == nil {
		t.Error("a namespace has too many servers, or another one has none")
	}
}

// largeRuns is an API server with so many runs that have 512 KiB of files each. It tells how many each list asked for.
func largeRuns(t *testing.T, runs int) (address string, asked *[]int) {
	t.Helper()
	asked = new([]int)
	content := strings.Repeat("x", 512<<10)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /apis/authentication.k8s.io/v1/selfsubjectreviews", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1","status":{"userInfo":{"username":%q}}}`, r.Header.Get("Impersonate-User"))
	})
	mux.HandleFunc("GET /apis/motorcortex.dev/v1alpha1/namespaces/ns-0/motorruns", func(w http.ResponseWriter, r *http.Request) {
		limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
		if err != nil {
			t.Error(err)
		}
		*asked = append(*asked, limit)
		from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
		to, next := min(from+limit, runs), ""
		if to < runs {
			next = strconv.Itoa(to)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"kind":"MotorRunList","apiVersion":"motorcortex.dev/v1alpha1","metadata":{"continue":%q},"items":[`, next)
		for i := from; i < to; i++ {
			if i > from {
				fmt.Fprint(w, ",")
			}
			if _, err := fmt.Fprintf(w, `{"metadata":{"name":"r%d","namespace":"ns-0"},"spec":{"task":"t","files":[{"path":"a","content":%q}]}}`, i, content); err != nil {
				return // What is too much is not read.
			}
		}
		fmt.Fprint(w, "]}")
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL, asked
}

// Runs with large files are listed in parts that fit, and none of the files stays in memory.
func TestLargeRunsAreListedInParts(t *testing.T) {
	t.Parallel()
	address, asked := largeRuns(t, 40)
	c, err := New(t.Context(), &rest.Config{Host: address}, Options{Audience: "mcp"})
	if err != nil {
		t.Fatal(err)
	}
	client, status, err := c.client(t.Context(), keyOf(0, 0))
	if err != nil {
		t.Fatal(status, err)
	}
	runs, total, err := client.Runs(t.Context(), "", 3)
	if err != nil || total != 40 || len(runs) != 3 || runs[0].Spec.Files[0].Content != nil {
		t.Fatalf("%d of %d runs, %v", len(runs), total, err)
	}
	if want := []int{250, 125, 62, 31, 15, 15, 15}; !slices.Equal(*asked, want) {
		t.Errorf("lists of %v runs were asked for, want %v", *asked, want)
	}
}

// An account that is lent to no server is asked about once in a while, and takes nothing of what the accounts share.
func TestARefusalToLendIsRemembered(t *testing.T) {
	t.Parallel()
	asked := 0
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`)
	}))
	defer api.Close()
	c, err := New(t.Context(), &rest.Config{Host: api.URL, QPS: 1, Burst: 1}, Options{Audience: "mcp"})
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if _, status, err := c.client(t.Context(), keyOf(0, 0)); status != http.StatusForbidden || err == nil {
			t.Errorf("status %d, %v", status, err)
		}
	}
	if asked != 1 || !c.limits.requests.TryAccept() {
		t.Errorf("it was asked %d times, or a request of the accounts was taken for it", asked)
	}
}
