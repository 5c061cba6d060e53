// SPDX-License-Identifier: Apache-2.0

// Package slack answers runs by buttons in Slack. A button of a message has the server show the ask to the person who pressed it, as the page would, with a
// button that confirms; that one has the answer sent, under the name of the user of the cluster whom an administrator mapped the person to.
//
//	Slack ──signed request──► verify ──► who is it? ──► the page's API, as that user ──► reply to that person alone
package slack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/cache"

	"motorcortex.dev/motorcortex/internal/serving/connlimit"
	"motorcortex.dev/motorcortex/internal/serving/shares"
)

const (
	// Path is where Slack sends what people press.
	Path = "/slack/interactivity"
	// maxBody is the most bytes of a request of Slack: it has the message whose button was pressed.
	maxBody = 256 << 10
	// smallBody is the most bytes of a request that takes none of the places for those that are read at once: connections bound them.
	smallBody = 16 << 10
	// maxReads is how many larger requests are read at once, readsOf how many of one address, readTime how long one may take.
	maxReads, readsOf, readTime = 16, 4, 5 * time.Second
	// maxActs is how many requests are carried out at once, and actsOf how many of one person. Slack waits three seconds for an answer, and so gets it before.
	maxActs, actsOf = 16, 2
	// maxTaken is how many requests are carried out, wait for that, or have their reply posted, and takenOf how many of one person.
	maxTaken, takenOf = 64, 8
	// maxOrigins is of how many messages is known which one a decision was begun from.
	maxOrigins = 1024
	// patience bounds how long one is carried out, and replyTime how long its reply takes.
	patience, replyTime = 20 * time.Second, 10 * time.Second
	// replies begins the addresses that replies are posted to.
	replies = "https://hooks.slack.com/"
)

// Options are what an administrator decides.
type Options struct {
	// SecretFile has the signing secret of the app of Slack, and is read again with each request. Without it, Slack gets no answer.
	SecretFile string
	// UsersFile says which user of the cluster each person of Slack is, and is read again with each request.
	UsersFile string
	// HTTP posts replies, nil for a client of its own. RepliesTo begins their addresses, "" for those of Slack.
	HTTP      *http.Client
	RepliesTo string
}

// Handler serves the requests of Slack. Close ends those that are carried out.
type Handler struct {
	options Options
	// page returns the page as a person sees it.
	page func(Person) http.Handler
	log  *slog.Logger
	now  func() time.Time
	seen seen

	// slots are the requests that are carried out, taken all that Slack has sent and that have not ended, reads the large ones that are read.
	slots, taken, reads *shares.Shares
	// origins has the messages that confirmations were begun from, by the seals of the confirmations. Their addresses let anybody write to a channel in the
	// name of this server: no person gets them.
	origins *cache.LRUExpireCache
	ctx     context.Context //nolint:containedctx // It is the life of the handler, which requests do not end.
	cancel  context.CancelFunc
	acts    sync.WaitGroup
}

// New returns a handler that acts by the page as a person sees it.
func New(options Options, page func(Person) http.Handler, log *slog.Logger) *Handler {
	if options.HTTP == nil {
		options.HTTP = &http.Client{Timeout: replyTime, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	if options.RepliesTo == "" {
		options.RepliesTo = replies
	}
	h := &Handler{
		options: options, page: page, log: log, now: time.Now, reads: shares.New(maxReads, readsOf),
		slots: shares.New(maxActs, actsOf), taken: shares.New(maxTaken, takenOf), origins: cache.NewLRUExpireCache(maxOrigins),
	}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	return h
}

// Close ends what is carried out, and waits for that.
func (h *Handler) Close() {
	h.cancel()
	h.acts.Wait()
}

// interaction is what Slack says of a button that was pressed.
type interaction struct {
	Type string `json:"type"`
	User user   `json:"user"`
	Team struct {
		ID string `json:"id"`
	} `json:"team"`
	ResponseURL string   `json:"response_url"`
	Actions     []action `json:"actions"`
}

// user is a person of Slack. Those of another team can be in a channel.
type user struct {
	ID     string `json:"id"`
	TeamID string `json:"team_id"`
	// of is the team of the request, for a person of whom Slack says none.
	of string
}

func (u *user) team() string {
	if u.TeamID != "" {
		return u.TeamID
	}
	return u.of
}

type action struct {
	ID    string `json:"action_id"`
	Value string `json:"value"`
}

// ServeHTTP takes a request of Slack. It answers before the request is carried out: Slack does not wait for long.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "Slack posts here.", http.StatusMethodNotAllowed)
		return
	}
	body, status := h.body(w, r)
	if status != http.StatusOK {
		http.Error(w, http.StatusText(status), status)
		return
	}
	key, err := h.key()
	if err != nil {
		h.log.Error("the signing secret of Slack cannot be read", "error", err)
		http.Error(w, "The server cannot read its secret.", http.StatusInternalServerError)
		return
	}
	now := h.now()
	signature, err := verify(r.Header, key, body, now)
	if err == nil {
		err = h.seen.take(signature, now)
	}
	switch {
	case errors.Is(err, errFull):
		http.Error(w, "Too much at once.", http.StatusServiceUnavailable)
		return
	case err != nil:
		http.Error(w, "The request is none of Slack's.", http.StatusUnauthorized)
		return
	}
	connlimit.Known(r.Context())
	i, err := read(body)
	if err != nil {
		http.Error(w, "Only buttons of messages are served.", http.StatusBadRequest)
		return
	}
	who := i.User.team() + "/" + i.User.ID
	if !h.taken.Take(who, 1) {
		http.Error(w, "Too much at once.", http.StatusServiceUnavailable)
		return
	}
	// It outlives the request, for the end of which Slack does not wait.
	h.acts.Go(func() {
		defer h.taken.Give(who, 1)
		for _, m := range h.carryOut(h.ctx, key, i) {
			h.post(h.ctx, m.to, m.what)
		}
	})
	w.WriteHeader(http.StatusOK)
}

// body reads a request, of which it is not known yet whether it is of Slack. Anybody can send one: few large ones are read at once, each for a short time, and none
// that says no length, cannot be signed or is too old. It returns the status with which a request is refused.
func (h *Handler) body(w http.ResponseWriter, r *http.Request) (content []byte, status int) {
	switch {
	case r.ContentLength > maxBody:
		return nil, http.StatusRequestEntityTooLarge
	case r.ContentLength < 0:
		return nil, http.StatusLengthRequired
	case !plausible(r.Header, h.now()):
		return nil, http.StatusUnauthorized
	}
	if r.ContentLength > smallBody {
		from := connlimit.Source(r.RemoteAddr).String()
		if !h.reads.Take(from, 1) {
			return nil, http.StatusServiceUnavailable
		}
		defer h.reads.Give(from, 1)
	}
	conn := http.NewResponseController(w)
	_ = conn.SetReadDeadline(time.Now().Add(readTime)) // A connection without deadlines is none of a network.
	content = make([]byte, r.ContentLength)
	if _, err := io.ReadFull(r.Body, content); err != nil {
		return nil, http.StatusBadRequest
	}
	_ = conn.SetReadDeadline(time.Time{})
	return content, http.StatusOK
}

// key is the signing secret.
func (h *Handler) key() ([]byte, error) {
	content, err := os.ReadFile(h.options.SecretFile)
	if err != nil {
		return nil, err
	}
	if content = bytes.TrimSpace(content); len(content) == 0 {
		return nil, fmt.Errorf("%s is empty", h.options.SecretFile)
	}
	return content, nil
}

func read(body []byte) (*interaction, error) {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, err
	}
	i := &interaction{}
	if err := json.Unmarshal([]byte(form.Get("payload")), i); err != nil {
		return nil, err
	}
	i.User.of = i.Team.ID
	if i.Type != "block_actions" || len(i.Actions) != 1 || i.User.ID == "" {
		return nil, errors.New("it is no button that one person pressed")
	}
	return i, nil
}
