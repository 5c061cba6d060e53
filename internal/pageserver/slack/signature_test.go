// SPDX-License-Identifier: Apache-2.0

package slack

import (
	"errors"
	"net/http"
	"strconv"
	"testing"
	"time"
)

// The values are those of the documentation of Slack.
func TestTheSignatureIsThatOfTheDocumentation(t *testing.T) {
	t.Parallel()
	body := "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner" +
		"&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
	const want = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"
	if got := sign([]byte("8f742231b10e8888abcd99yyyzzz85a5"), "1531420618", []byte(body)); got != want {
		t.Errorf("got %s", got)
	}
}

func TestWhichRequestsAreOfSlack(t *testing.T) {
	t.Parallel()
	key, body, now := []byte("s3cret"), []byte("payload=x"), time.Unix(1_700_000_000, 0)
	at := func(d time.Duration) string { return strconv.FormatInt(now.Add(d).Unix(), 10) }
	for name, tt := range map[string]struct {
		time, signature string
		key, body       string
		ok              bool
	}{
		"its own":              {time: at(0), ok: true},
		"five minutes old":     {time: at(-5 * time.Minute), ok: true},
		"older":                {time: at(-5*time.Minute - time.Second)},
		"of later":             {time: at(5*time.Minute + time.Second)},
		"without a time":       {time: ""},
		"with a time in words": {time: "now"},
		"with a signed time":   {time: "+" + at(0)},
		"with another body":    {time: at(0), body: "payload=y"},
		"with another key":     {time: at(0), key: "other"},
		"without a signature":  {time: at(0), signature: "none"},
		"of another version":   {time: at(0), signature: "v1" + sign(key, at(0), body)[2:]},
	} {
		signed, with := body, key
		if tt.body != "" {
			signed = []byte(tt.body)
		}
		if tt.key != "" {
			with = []byte(tt.key)
		}
		h := http.Header{}
		h.Set("X-Slack-Request-Timestamp", tt.time)
		h.Set("X-Slack-Signature", sign(with, tt.time, signed))
		switch tt.signature {
		case "":
		case "none":
			h.Del("X-Slack-Signature")
		default:
			h.Set("X-Slack-Signature", tt.signature)
		}
		if _, err := verify(h, key, body, now); (err == nil) != tt.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	h := http.Header{}
	h.Set("X-Slack-Request-Timestamp", at(0))
	h.Set("X-Slack-Signature", sign(nil, at(0), body))
	if _, err := verify(h, nil, body, now); err == nil {
		t.Error("without a key any request is Slack's")
	}
}

func TestASignatureCountsOnce(t *testing.T) {
	t.Parallel()
	var s seen
	now := time.Unix(0, 0)
	if err := errors.Join(s.take("a", now), s.take("b", now)); err != nil {
		t.Fatal(err)
	}
	// A request from five minutes ahead is let through for ten.
	for _, later := range []time.Duration{0, 2 * maxAge} {
		if err := s.take("a", now.Add(later)); !errors.Is(err, errReplayed) {
			t.Errorf("after %s: %v", later, err)
		}
	}
}

func TestSignaturesHaveABound(t *testing.T) {
	t.Parallel()
	var s seen
	now := time.Unix(0, 0)
	for i := range maxSeen {
		if err := s.take(strconv.Itoa(i), now); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.take("x", now); !errors.Is(err, errFull) {
		t.Errorf("got %v", err)
	}
	if err := s.take("x", now.Add(time.Hour)); err != nil || len(s.until) != 1 {
		t.Errorf("after an hour: %v, with %d", err, len(s.until))
	}
}
