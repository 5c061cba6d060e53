// SPDX-License-Identifier: Apache-2.0

package slack

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/signal/notice"
)

func TestOnlyWhatWasShownToAPersonIsConfirmed(t *testing.T) {
	t.Parallel()
	key, now := []byte("s3cret"), time.Unix(1_700_000_000, 0)
	dana := &user{ID: "U1", of: "T1"}
	of := confirmation{Seen: "abc", Button: notice.Button{Namespace: "team", Run: "fix", UID: "u", ID: "a1", Digest: "sha256:1", Decision: v1alpha1.DecisionDeny}}
	value, mac, err := seal(key, of, dana, now)
	if err != nil {
		t.Fatal(err)
	}
	if c, err := open(key, value, dana, now.Add(confirmFor-time.Second)); err != nil || c.Button != of.Button || c.Seen != "abc" || !bytes.Equal(c.MAC, mac) {
		t.Errorf("got %+v, %v", c, err)
	}
	for name, tt := range map[string]struct {
		key   string
		value string
		who   *user
		after time.Duration
	}{
		"late":               {"s3cret", value, dana, confirmFor},
		"by another":         {"s3cret", value, &user{ID: "U2", of: "T1"}, 0},
		"of another team":    {"s3cret", value, &user{ID: "U1", TeamID: "T2", of: "T1"}, 0},
		"with another key":   {"other", value, dana, 0},
		"of another call":    {"s3cret", strings.Replace(value, "sha256:1", "sha256:2", 1), dana, 0},
		"another decision":   {"s3cret", strings.Replace(value, "Deny", "ApproveOnce", 1), dana, 0},
		"of a button":        {"s3cret", `{"ns":"team","run":"fix","decision":"ApproveOnce"}`, dana, 0},
		"with no value":      {"s3cret", "", dana, 0},
		"another thing seen": {"s3cret", strings.Replace(value, "abc", "abd", 1), dana, 0},
	} {
		if c, err := open([]byte(tt.key), tt.value, tt.who, now.Add(tt.after)); !errors.Is(err, errConfirmation) {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
}
