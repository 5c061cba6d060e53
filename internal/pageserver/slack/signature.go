// SPDX-License-Identifier: Apache-2.0

package slack

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// maxAge is how far the time of a request may be from this process's.
	maxAge = 5 * time.Minute
	// maxSeen is the most requests whose signatures are kept. Each is of Slack, and is kept for ten minutes at most.
	maxSeen = 1 << 14
	// version begins a signature, and what is signed.
	version = "v0"
)

var (
	errSignature = errors.New("the signature is none of Slack's for this request, or too old")
	errReplayed  = errors.New("the request came before")
	errFull      = errors.New("too many requests in a short time")
)

// sign returns the signature of a body at a time in seconds since 1970.
func sign(key []byte, at string, body []byte) string {
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write([]byte(version + ":" + at + ":"))
	_, _ = mac.Write(body)
	return version + "=" + hex.EncodeToString(mac.Sum(nil))
}

// verify checks that a request is of Slack, and of now, and returns its signature. See https://docs.slack.dev/authentication/verifying-requests-from-slack.
func verify(h http.Header, key, body []byte, now time.Time) (signature string, err error) {
	// A key that is empty would sign for anyone.
	if len(key) == 0 || !plausible(h, now) {
		return "", errSignature
	}
	signature = sign(key, h.Get("X-Slack-Request-Timestamp"), body)
	if !hmac.Equal([]byte(signature), []byte(h.Get("X-Slack-Signature"))) {
		return "", errSignature
	}
	return signature, nil
}

// plausible reports whether a request can have a signature that counts now. It proves nothing.
func plausible(h http.Header, now time.Time) bool {
	at := h.Get("X-Slack-Request-Timestamp")
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil || strconv.FormatInt(seconds, 10) != at || !strings.HasPrefix(h.Get("X-Slack-Signature"), "v0=") {
		return false
	}
	sent := time.Unix(seconds, 0)
	return now.Sub(sent) <= maxAge && sent.Sub(now) <= maxAge
}

// seen takes each signature once. The zero value is ready.
type seen struct {
	mu    sync.Mutex
	until map[string]time.Time
}

// take refuses a signature that it took before, as long as verify would let it through.
func (s *seen) take(signature string, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t, taken := s.until[signature]; taken && now.Before(t) {
		return errReplayed
	}
	if len(s.until) >= maxSeen {
		for other, t := range s.until {
			if !now.Before(t) {
				delete(s.until, other)
			}
		}
	}
	if len(s.until) >= maxSeen {
		return errFull
	}
	if s.until == nil {
		s.until = map[string]time.Time{}
	}
	s.until[signature] = now.Add(2*maxAge + time.Second)
	return nil
}
