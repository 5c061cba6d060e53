// SPDX-License-Identifier: Apache-2.0

package ui_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/internal/cli/ui"
	"motorcortex.dev/motorcortex/internal/cli/verb"
	"motorcortex.dev/motorcortex/test/fakecluster"
	"motorcortex.dev/motorcortex/test/printed"
)

// started is a verb that serves the page.
type started struct {
	out, errs *printed.Text
	opened    chan string
	stop      func()
	ended     chan int
	address   string
	code      string
}

func start(t *testing.T, terminal bool, open error, args ...string) *started {
	t.Helper()
	s := &started{out: &printed.Text{}, errs: &printed.Text{}, opened: make(chan string, 1), ended: make(chan int, 1)}
	cmd := ui.New(ui.Command{
		Streams: verb.Streams{In: strings.NewReader(""), Out: s.out, Err: s.errs, Terminal: terminal},
		Connect: func() (client.WithWatch, string, error) { return fakecluster.New(t), "ns", nil },
		Open: func(path string) error {
			s.opened <- path
			return open
		},
	})
	ctx, cancel := context.WithCancel(t.Context())
	s.stop = cancel
	go func() { s.ended <- verb.Run(ctx, cmd, args) }()
	t.Cleanup(cancel)
	deadline := time.Now().Add(time.Minute)
	for !strings.Contains(s.out.String(), "\n") {
		if time.Now().After(deadline) {
			t.Fatalf("no link is printed: %s", s.errs)
		}
		<-time.After(5 * time.Millisecond)
	}
	s.address, s.code, _ = strings.Cut(strings.TrimSpace(s.out.String()), "/#code=")
	return s
}

// do sends a request as a browser does.
func (s *started) do(t *testing.T, method, path, token, body string, header ...string) (status int, answer string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.address+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if method != http.MethodGet {
		r.Header.Set("Origin", s.address)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Body.Close()
	b, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.StatusCode, string(b)
}

func TestThePageIsServedToWhomHasTheLink(t *testing.T) {
	t.Parallel()
	s := start(t, false, nil)
	host, _, err := net.SplitHostPort(strings.TrimPrefix(s.address, "http://"))
	if err != nil || host != "127.0.0.1" || len(s.code) < 20 {
		t.Fatalf("the link is %s", s.out)
	}
	if status, body := s.do(t, http.MethodGet, "/", "", ""); status != http.StatusOK || !strings.Contains(body, "<title>Motor Cortex</title>") {
		t.Errorf("%d, %s", status, body)
	}
	if status, _ := s.do(t, http.MethodGet, "/api/me", "", ""); status != http.StatusUnauthorized {
		t.Errorf("without a token: %d", status)
	}
	if status, _ := s.do(t, http.MethodGet, "/", "", "", "Host", "evil.example.com"); status != http.StatusForbidden {
		t.Errorf("another name: %d", status)
	}
	status, body := s.do(t, http.MethodPost, "/api/session", "", `{"code":"`+s.code+`"}`)
	var answer struct{ Token string }
	if err := json.Unmarshal([]byte(body), &answer); err != nil || status != http.StatusOK {
		t.Fatalf("%d, %s", status, body)
	}
	if status, body := s.do(t, http.MethodGet, "/api/me", answer.Token, ""); status != http.StatusOK || !strings.Contains(body, fakecluster.User) {
		t.Errorf("%d, %s", status, body)
	}
	// The next link is printed, and no token ever.
	if printed := s.errs.String(); !strings.Contains(printed, s.address+"/#code=") || strings.Contains(printed, s.code) || strings.Contains(printed+s.out.String(), answer.Token) {
		t.Errorf("printed is %s%s", s.out, printed)
	}
	if len(s.opened) > 0 {
		t.Error("a browser was opened where there is no terminal")
	}
	s.stop()
	if code := <-s.ended; code != verb.ExitOK {
		t.Errorf("it ended with %d: %s", code, s.errs)
	}
}

func TestTheBrowserIsOpenedAtATerminal(t *testing.T) {
	t.Parallel()
	s := start(t, true, errors.New("no display"))
	path := <-s.opened
	if b, err := os.ReadFile(path); err != nil || !strings.Contains(string(b), strings.TrimSpace(s.out.String())) {
		t.Errorf("opened was %s: %v, %s", path, err, b)
	}
	s.stop()
	if code := <-s.ended; code != verb.ExitOK || !strings.Contains(s.errs.String(), "no display. Open the link yourself") {
		t.Errorf("%d: %s", code, s.errs)
	}
	quiet := start(t, true, nil, "--no-browser")
	quiet.stop()
	if <-quiet.ended; len(quiet.opened) > 0 {
		t.Error("a browser was opened in spite of --no-browser")
	}
}

// Every user of the machine can list the arguments of a program, and no other one can read a file of this mode.
func TestTheLinkIsInNoArgumentOfTheBrowser(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*started){
		"its code was used": func(s *started) { s.do(t, http.MethodPost, "/api/session", "", `{"code":"`+s.code+`"}`) },
		"the verb ended": func(s *started) {
			s.stop()
			<-s.ended
		},
	} {
		s := start(t, true, nil)
		path := <-s.opened
		if strings.Contains(path, s.code) || !filepath.IsAbs(path) {
			t.Errorf("the browser was given %s", path)
		}
		for entry, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700 | os.ModeDir} {
			if info, err := os.Stat(entry); err != nil || runtime.GOOS != "windows" && info.Mode() != want {
				t.Errorf("%s: %v, %v", entry, info, err)
			}
		}
		end(s)
		if _, err := os.Stat(filepath.Dir(path)); !os.IsNotExist(err) {
			t.Errorf("%s, and its file stays: %v", name, err)
		}
		s.stop()
	}
}

// A window that is open does not keep the verb from ending.
func TestAnOpenStreamEndsWithTheVerb(t *testing.T) {
	t.Parallel()
	s := start(t, false, nil)
	_, body := s.do(t, http.MethodPost, "/api/session", "", `{"code":"`+s.code+`"}`)
	var answer struct{ Token string }
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		t.Fatal(err)
	}
	streamed := make(chan string, 1)
	go func() {
		_, body := s.do(t, http.MethodGet, "/api/events?namespace=ns", answer.Token, "")
		streamed <- body
	}()
	select {
	case body := <-streamed:
		t.Fatalf("the stream ended by itself: %s", body)
	case <-time.After(200 * time.Millisecond):
	}
	s.stop()
	if body := <-streamed; !strings.Contains(body, `"kind":"all"`) {
		t.Errorf("the stream had %s", body)
	}
	if code := <-s.ended; code != verb.ExitOK {
		t.Errorf("it ended with %d: %s", code, s.errs)
	}
}

func TestAPortThatIsTakenIsAnError(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	for args, want := range map[string]string{"--port " + port: "address already in use", "--port 70000": "too large or too small a number", "now": "too many arguments"} {
		errs := &printed.Text{}
		cmd := ui.New(ui.Command{
			Streams: verb.Streams{Out: &printed.Text{}, Err: errs},
			Connect: func() (client.WithWatch, string, error) { return fakecluster.New(t), "ns", nil },
		})
		program := verb.Program(verb.Streams{Out: &printed.Text{}, Err: errs}, "motor", "motor", "", cmd)
		if code := verb.Run(t.Context(), program, append([]string{"ui"}, strings.Fields(args)...)); code == verb.ExitOK || !strings.Contains(errs.String(), want) {
			t.Errorf("%s: %d, %s", args, code, errs)
		}
	}
}
