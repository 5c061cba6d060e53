// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"motorcortex.dev/motorcortex/internal/secret"
)

// keyPrefix marks a key of Standard Webhooks, which is in base64 after it. Another key is used as it is.
const keyPrefix = "whsec_"

// errKey reports a key that cannot be read.
var errKey = errors.New("the signing key begins with " + keyPrefix + " and is not in base64 after that")

// sign sets the headers of a signature after Standard Webhooks (https://www.standardwebhooks.com): the id, the time in seconds, and the HMAC-SHA256
// of both with the body. It sets none without a key.
func sign(h http.Header, key secret.Value, id string, now time.Time, body []byte) error {
	if key.IsEmpty() {
		return nil
	}
	raw := key.Reveal()
	if encoded, ok := strings.CutPrefix(key.RevealText(), keyPrefix); ok {
		var err error
		if raw, err = base64.StdEncoding.DecodeString(encoded); err != nil || len(raw) == 0 {
			// The error of the decoder quotes the key.
			return errKey
		}
	}
	at := strconv.FormatInt(now.Unix(), 10)
	mac := hmac.New(sha256.New, raw)
	_, _ = mac.Write([]byte(id + "." + at + "."))
	_, _ = mac.Write(body)
	h.Set("webhook-id", id)
	h.Set("webhook-timestamp", at)
	h.Set("webhook-signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	return nil
}
