// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/secret"
)

// The first case is the example of the specification of Standard Webhooks.
func TestSign(t *testing.T) {
	t.Parallel()
	const id, body = "msg_p5jXN8AQM9LWM0D4loKWxJek", `{"test": 2432232314}`
	at := time.Unix(1614265330, 0)
	for name, tt := range map[string]struct{ key, want string }{
		"of the specification": {"whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="},
		"a word":               {"a word", "v1,Mq8qeNuupG+cKmCfm9Xyu7qAVWJpjtGqy0PjebpwDpU="},
		"none":                 {"", ""},
	} {
		h := http.Header{}
		if err := sign(h, secret.New(tt.key), id, at, []byte(body)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := h.Get("webhook-signature"); got != tt.want || tt.want != "" && (h.Get("webhook-id") != id || h.Get("webhook-timestamp") != "1614265330") {
			t.Errorf("%s: %v", name, h)
		}
	}
	err := sign(http.Header{}, secret.New("whsec_not base64"), id, at, nil)
	if err == nil || strings.Contains(err.Error(), "whsec_not") {
		t.Errorf("got %v", err)
	}
}
