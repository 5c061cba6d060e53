// SPDX-License-Identifier: Apache-2.0

package slack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// maxPage is the most bytes of an answer of the page.
const maxPage = 8 << 20

// ask is an ask as the page shows it. Its texts are fit to be shown.
type ask struct {
	ID       string             `json:"id"`
	Kind     v1alpha1.InputKind `json:"kind"`
	Seen     string             `json:"seen"`
	Question string             `json:"question"`
	Options  []string           `json:"options"`
	Files    []string           `json:"files"`
	Domain   string             `json:"domain"`
	// Reaches and Credentials are the domains that the run reaches already, and the names of its Credentials.
	Reaches     []string `json:"reaches"`
	Credentials []string `json:"credentials"`
	OnTimeout   string   `json:"onTimeout"`
	Action      *struct {
		Tool   string `json:"tool"`
		Digest string `json:"digest"`
		Parts  []struct {
			Name string `json:"name"`
			Text string `json:"text"`
			End  string `json:"end"`
		} `json:"parts"`
		Reason  string `json:"reason"`
		Rule    string `json:"rule"`
		Check   bool   `json:"check"`
		Problem string `json:"problem"`
	} `json:"action"`
	Requester string `json:"requester"`
	Choices   []struct {
		Decision v1alpha1.Decision `json:"decision"`
		Label    string            `json:"label"`
		Effect   string            `json:"effect"`
	} `json:"choices"`
	May  bool   `json:"may"`
	Role string `json:"role"`
}

// refusal is why something was not done, in words for the person.
type refusal struct {
	text string
	// unsure is true if the cluster can have done it all the same.
	unsure bool
}

func (r refusal) Error() string { return r.text }

func refused(format string, args ...any) error { return refusal{text: fmt.Sprintf(format, args...)} }

// errUnsure reports that it is not known whether an answer was sent.
var errUnsure = errors.New("it is not known whether it was sent")

// desk asks the page for one person.
type desk struct{ page http.Handler }

// find returns an ask as the page shows it.
func (d desk) find(ctx context.Context, namespace, run, uid, id string) (*ask, error) {
	var answer struct {
		Run struct {
			UID  string `json:"uid"`
			Asks []ask  `json:"asks"`
		} `json:"run"`
	}
	if err := d.call(ctx, http.MethodGet, pathOf("api", "runs", namespace, run), nil, &answer); err != nil {
		return nil, err
	}
	shown := answer.Run
	i := slices.IndexFunc(shown.Asks, func(a ask) bool { return a.ID == id })
	if shown.UID != uid || i < 0 {
		return nil, refused("%s/%s does not ask that any more.", namespace, run)
	}
	return &shown.Asks[i], nil
}

// decide sends what the person decided. The page refuses it if the ask, or its run, is not as it was shown.
func (d desk) decide(ctx context.Context, c *confirmation) error {
	body := map[string]any{"uid": c.UID, "seen": c.Seen}
	if c.Option > 0 {
		body["option"] = c.Option
	} else {
		body["decision"] = c.Decision
	}
	if c.Digest != "" {
		body["digest"] = c.Digest
	}
	err := d.call(ctx, http.MethodPost, pathOf("api", "runs", c.Namespace, c.Run, "asks", c.ID), body, nil)
	if _, said := errors.AsType[refusal](err); err == nil || said {
		return err
	}
	return fmt.Errorf("%w: %w", errUnsure, err)
}

func pathOf(parts ...string) string {
	var path strings.Builder
	for _, p := range parts {
		path.WriteString("/" + url.PathEscape(p))
	}
	return path.String()
}

// call makes a request of the page's API. Its error is a refusal if the page says why.
func (d desk) call(ctx context.Context, method, path string, body, into any) error {
	var content []byte
	if body != nil {
		var err error
		if content, err = json.Marshal(body); err != nil {
			return err
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, path, bytes.NewReader(content))
	if err != nil {
		return err
	}
	w := &recorder{header: http.Header{}}
	d.page.ServeHTTP(w, r)
	if w.status != 0 && w.status != http.StatusOK {
		var said struct {
			Error string `json:"error"`
		}
		if err := json.Unmarshal(w.body.Bytes(), &said); err != nil || said.Error == "" {
			return fmt.Errorf("the page answers with status %d", w.status)
		}
		return refusal{text: said.Error, unsure: method == http.MethodPost && w.status >= http.StatusInternalServerError}
	}
	if w.full {
		return errors.New("the page says more than is read")
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(w.body.Bytes(), into)
}

// recorder keeps an answer of the page.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
	full   bool
}

// Header returns the headers, which no one reads.
func (w *recorder) Header() http.Header { return w.header }

// WriteHeader keeps the first status.
func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

// Write keeps what there is room for.
func (w *recorder) Write(p []byte) (int, error) {
	if w.body.Len()+len(p) > maxPage {
		w.full = true
		return len(p), nil
	}
	return w.body.Write(p)
}
