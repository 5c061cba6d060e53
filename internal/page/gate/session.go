// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
)

const (
	// maxSessions is how many windows are open at once. One more ends the oldest.
	maxSessions = 16
	// maxCode is the most bytes of a request for a session.
	maxCode = 256
	// PathSession is where a code is exchanged for a token.
	PathSession = "/api/session"
)

// Sessions are the windows that were opened with a link. A link has a code that opens one window, in the fragment of its address: browsers send it to
// no server, and it can be used no more by a person who finds it in a history. The window has a token from then on, which
// its scripts send as a header. A cookie would be sent to every other server of this host too, whatever its port.
type Sessions struct {
	// Opened is called after each code that was used, with the next one.
	Opened func(code string)

	mu     sync.Mutex
	code   [sha256.Size]byte
	tokens [][sha256.Size]byte
}

// NewSessions returns sessions, and the first code.
func NewSessions() (s *Sessions, code string) {
	s = &Sessions{}
	return s, s.next()
}

// next replaces the code. Only its hash is kept.
func (s *Sessions) next() string {
	code := rand.Text()
	s.code = sha256.Sum256([]byte(code))
	return code
}

// open exchanges a code for a token.
func (s *Sessions) open(code string) (token, next string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sum := sha256.Sum256([]byte(code)); subtle.ConstantTimeCompare(sum[:], s.code[:]) != 1 {
		return "", "", errors.New("the link was used already, or it is not one of this page")
	}
	// 256 bits: rand.Text has 130.
	token = rand.Text() + rand.Text()
	s.tokens = append(s.tokens, sha256.Sum256([]byte(token)))
	s.tokens = s.tokens[max(0, len(s.tokens)-maxSessions):]
	return token, s.next(), nil
}

// knows reports whether a token is one of a window.
func (s *Sessions) knows(token string) bool {
	sum := sha256.Sum256([]byte(token))
	s.mu.Lock()
	defer s.mu.Unlock()
	found := 0
	for _, t := range s.tokens {
		found |= subtle.ConstantTimeCompare(sum[:], t[:])
	}
	return found == 1
}

// Require lets requests below /api through that have the token of a window. The other files of the page tell nothing.
func (s *Sessions) Require(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, isBearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		switch {
		case !strings.HasPrefix(r.URL.Path, "/api/"):
			next.ServeHTTP(w, r)
		case r.URL.Path == PathSession:
			s.exchange(w, r)
		case !isBearer || !s.knows(token):
			answer(w, http.StatusUnauthorized, map[string]string{"error": "This window is not open any more: open the newest link that kubectl motor ui printed."})
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func (s *Sessions) exchange(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		answer(w, http.StatusMethodNotAllowed, map[string]string{"error": "Only POST opens a window."})
		return
	}
	var body struct{ Code string }
	if err := json.NewDecoder(io.LimitReader(r.Body, maxCode)).Decode(&body); err != nil {
		answer(w, http.StatusBadRequest, map[string]string{"error": "The code of the link is missing."})
		return
	}
	token, next, err := s.open(body.Code)
	if err != nil {
		answer(w, http.StatusUnauthorized, map[string]string{"error": "This link opens no window: " + err.Error() + ". Open the newest one that kubectl motor ui printed."})
		return
	}
	if s.Opened != nil {
		s.Opened(next)
	}
	answer(w, http.StatusOK, map[string]string{"token": token})
}

func answer(w http.ResponseWriter, status int, v map[string]string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) //nolint:errchkjson // A map of strings has a JSON form, and a browser that left needs none.
}
