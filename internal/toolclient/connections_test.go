// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolclient_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

// meetingServer answers calls when toolapi.MaxReads of them have arrived, and counts connections.
type meetingServer struct {
	mu    sync.Mutex
	here  int
	met   chan struct{}
	conns atomic.Int32
}

func (s *meetingServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasPrefix(r.URL.Path, toolapi.PathCalls) {
		_ = json.NewEncoder(w).Encode(toolapi.Hello{PodUID: podUID, APIVersion: toolapi.APIVersion, Features: toolapi.Features()})
		return
	}
	s.mu.Lock()
	met := s.met
	if s.here++; s.here == toolapi.MaxReads {
		s.here, s.met = 0, make(chan struct{})
		close(met)
	}
	s.mu.Unlock()
	<-met
	_ = json.NewEncoder(w).Encode(toolapi.Result{OK: true})
}

// The reads of one answer reuse the connections of the answer before.
func TestReadsSideBySideKeepTheirConnections(t *testing.T) {
	t.Parallel()
	s := &meetingServer{met: make(chan struct{})}
	srv := httptest.NewUnstartedServer(s)
	srv.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.conns.Add(1)
		}
	}
	srv.StartTLS()
	t.Cleanup(srv.Close)
	_, cert := newKey(t)
	c, err := toolclient.New(toolclient.Config{Address: srv.Listener.Addr().String(), PodUID: podUID, ClientCert: cert, Epoch: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	ctx := testContext(t)
	for answer := range 3 {
		var calls sync.WaitGroup
		for i := range toolapi.MaxReads {
			calls.Go(func() {
				call := toolapi.Call{ID: fmt.Sprintf("a1-s%d-c%d", answer, i), Tool: toolapi.ToolRead, Arguments: json.RawMessage(`{"path":"f"}`)}
				if _, err := c.Call(ctx, call); err != nil {
					t.Error(err)
				}
			})
		}
		calls.Wait()
	}
	// A connection that is being put back when the next call begins is made once more.
	if n := s.conns.Load(); n > toolapi.MaxReads+4 {
		t.Errorf("%d connections for %d calls at a time", n, toolapi.MaxReads)
	}
}
