// SPDX-License-Identifier: Apache-2.0

package slack

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"time"

	"motorcortex.dev/motorcortex/internal/signal/notice"
)

// confirmFor is how long a person can confirm what they were shown.
const confirmFor = 15 * time.Minute

var errConfirmation = errors.New("what you confirm was not shown to you by this server, or a while ago: press the button of the message again")

// confirmation is the value of the button by which a person confirms what they were shown. Only this server makes one: a message of another sender can have
// no such button that counts.
type confirmation struct {
	notice.Button

	// Seen stands for what the page showed.
	Seen  string `json:"seen"`
	Until int64  `json:"until"`
	MAC   []byte `json:"mac,omitempty"`
}

// seal returns the value of a confirmation for one person, and its seal.
func seal(key []byte, c confirmation, who *user, now time.Time) (value string, mac []byte, err error) {
	c.Until = now.Add(confirmFor).Unix()
	if c.MAC, err = macOf(key, c, who); err != nil {
		return "", nil, err
	}
	content, err := json.Marshal(c)
	return string(content), c.MAC, err
}

// open returns the confirmation in a value, if it was made for that person and counts now.
func open(key []byte, value string, who *user, now time.Time) (confirmation, error) {
	var c confirmation
	if err := json.Unmarshal([]byte(value), &c); err != nil {
		return c, errConfirmation
	}
	mac, err := macOf(key, c, who)
	if err != nil || !hmac.Equal(mac, c.MAC) || !now.Before(time.Unix(c.Until, 0)) {
		return confirmation{}, errConfirmation
	}
	return c, nil
}

func macOf(key []byte, c confirmation, who *user) ([]byte, error) {
	c.MAC = nil
	text, err := json.Marshal([]any{"motorcortex.dev confirmation", who.team(), who.ID, c})
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write(text)
	return mac.Sum(nil), nil
}
